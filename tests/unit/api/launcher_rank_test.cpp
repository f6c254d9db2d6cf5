#include "api/launcher_rank.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tessera {
namespace {

using Variables = std::map<std::string, std::string>;

LauncherRank rank(const Variables& variables) {
  return launcher_rank([&](const char* name) -> std::string_view {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string_view() : found->second;
  });
}

TEST(LauncherRankTest, AProgramThatNoLauncherCountsIsTheFirst) {
  for (const Variables& none : {Variables{}, Variables{{"RANK", "3"}}, Variables{{"SLURM_PROCID", "3"}}}) {
    EXPECT_TRUE(rank(none).is_first);
    EXPECT_EQ(rank(none).number, "");
  }
}

// As the launchers set them: torchrun 2.1, Open MPI 5.0, Slurm.
TEST(LauncherRankTest, OneOfTheRanksIsTheFirst) {
  const std::pair<const char*, Variables> launchers[] = {{"RANK", {{"WORLD_SIZE", "16"}}},
                                                         {"PMIX_RANK", {{"PMIX_NAMESPACE", "a"}}},
                                                         {"SLURM_PROCID", {{"SLURM_JOB_ID", "4711"}}}};
  for (const auto& [name, beside] : launchers) {
    Variables variables = beside;
    for (const char* const number : {"0", "1", "10"}) {
      variables[name] = number;
      EXPECT_EQ(rank(variables).number, number) << name;
      EXPECT_EQ(rank(variables).is_first, std::string_view(number) == "0") << name << ' ' << number;
    }
  }
}

// Two steps of Slurm that start a torchrun each: one rank of four is the first of the job.
TEST(LauncherRankTest, EachLauncherHasToCountItAsTheFirst) {
  int firsts = 0;
  for (const char* const step : {"0", "1"}) {
    for (const char* const number : {"0", "1"}) {
      const LauncherRank found =
          rank({{"SLURM_JOB_ID", "4711"}, {"SLURM_PROCID", step}, {"WORLD_SIZE", "2"}, {"RANK", number}});
      EXPECT_EQ(found.number, number);
      firsts += found.is_first ? 1 : 0;
    }
  }
  EXPECT_EQ(firsts, 1);
}

}  // namespace
}  // namespace tessera
