#include "api/launcher_job.hpp"

#include <gtest/gtest.h>

#include <map>

namespace tessera {
namespace {

using Variables = std::map<std::string, std::string>;

std::string job(const Variables& variables) {
  return launcher_job([&](const char* name) -> std::string_view {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string_view() : found->second;
  });
}

TEST(LauncherJobTest, AProgramThatNoLauncherStartedIsOfNoJob) {
  EXPECT_EQ(job({}), "");
  EXPECT_EQ(job({{"SLURM_JOB_ID", ""}, {"LOCAL_RANK", "1"}, {"MASTER_PORT", "29500"}}), "");
}

// As the launchers set them: torchrun 2.1, Open MPI 5.0, Ray 2.
TEST(LauncherJobTest, RanksOfAJobHaveTheSame) {
  const Variables torchrun{{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "vm"}, {"MASTER_PORT", "29500"}};
  const Variables mpi{{"PMIX_NAMESPACE", "prterun-vm-8336@1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  const Variables slurm{{"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_ID", "0"}};
  const Variables ray{{"RAY_RAYLET_PID", "9220"}, {"RAY_JOB_ID", "ffffffff"}};
  for (const Variables& all : {torchrun, mpi, slurm, ray}) {
    Variables first = all, second = all;
    for (const char* const rank : {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_RANK", "SLURM_LOCALID"}) {
      first[rank] = "0";
      second[rank] = "1";
    }
    EXPECT_NE(job(first), "");
    EXPECT_EQ(job(first), job(second));
  }
  EXPECT_EQ(job(slurm), "slurm 4711");
  EXPECT_EQ(job(torchrun), "torchrun none vm 29500");
}

TEST(LauncherJobTest, JobsThatRunAtTheSameTimeDiffer) {
  Variables torchrun{{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "vm"}, {"MASTER_PORT", "29500"}};
  const std::string first = job(torchrun);
  torchrun["MASTER_PORT"] = "29501";
  EXPECT_NE(job(torchrun), first);
  EXPECT_NE(job({{"SLURM_JOB_ID", "1"}}), job({{"SLURM_JOB_ID", "2"}}));
  EXPECT_NE(job({{"SLURM_JOB_ID", "1"}}), job({{"RAY_RAYLET_PID", "1"}})) << "numbers of different launchers";
}

// Eight steps of a job that start torchrun each are one job.
TEST(LauncherJobTest, TheJobIsThatOfTheOutermostLauncher) {
  const Variables inner{{"TORCHELASTIC_RUN_ID", "a"}, {"PMIX_NAMESPACE", "b"}, {"RAY_RAYLET_PID", "3"}};
  Variables all = inner;
  all["SLURM_JOB_ID"] = "4711";
  EXPECT_EQ(job(all), job({{"SLURM_JOB_ID", "4711"}}));
  EXPECT_EQ(job(inner), "mpi b");
}

}  // namespace
}  // namespace tessera
