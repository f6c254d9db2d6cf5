#include "api/launcher_rank.hpp"

namespace tessera {
namespace {

struct Count {
  const char* rank;
  const char* beside;  // the rank counts only where this is set too; null: always
};

// From the outermost. RANK alone is a name that anything may have; torchrun, DeepSpeed and others set it with the size.
constexpr Count kCounts[] = {
    {"SLURM_PROCID", "SLURM_JOB_ID"},
    {"PMIX_RANK", nullptr},
    {"RANK", "WORLD_SIZE"},
};

}  // namespace

LauncherRank launcher_rank(const std::function<std::string_view(const char* name)>& variable) {
  LauncherRank rank;
  for (const Count& count : kCounts) {
    const std::string_view number = variable(count.rank);
    if (number.empty() || (count.beside != nullptr && variable(count.beside).empty())) continue;
    rank.number = number;
    rank.is_first = rank.is_first && number == "0";
  }
  return rank;
}

}  // namespace tessera
