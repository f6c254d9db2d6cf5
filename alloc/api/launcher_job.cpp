#include "api/launcher_job.hpp"

#include <array>

#include <fmt/core.h>

namespace tessera {
namespace {

struct Launcher {
  const char* name;
  const char* job;                    // the variable that identifies its job
  std::array<const char*, 2> beside;  // what else does; null: nothing
};

// Ray starts workers before it knows what they will work for, so the id of its job is not in their environment: the
// workers of a Ray node are one job. The run id of torchrun is "none" unless it is given one, but jobs that run at the
// same time meet at different ports.
constexpr Launcher kLaunchers[] = {
    {"slurm", "SLURM_JOB_ID", {nullptr, nullptr}},
    {"mpi", "PMIX_NAMESPACE", {nullptr, nullptr}},
    {"ray", "RAY_RAYLET_PID", {nullptr, nullptr}},
    {"torchrun", "TORCHELASTIC_RUN_ID", {"MASTER_ADDR", "MASTER_PORT"}},
};

}  // namespace

std::string launcher_job(const std::function<std::string_view(const char* name)>& variable) {
  for (const Launcher& launcher : kLaunchers) {
    const std::string_view job = variable(launcher.job);
    if (job.empty()) continue;
    std::string text = fmt::format("{} {}", launcher.name, job);
    for (const char* const name : launcher.beside) {
      if (name != nullptr) text += fmt::format(" {}", variable(name));
    }
    return text;
  }
  return "";
}

}  // namespace tessera
