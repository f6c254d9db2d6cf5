// Memory of a pool, and an event, that two processes share.
#include <gtest/gtest.h>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

TEST(SharedPools, TwoProcessesShareAPoolsMemoryAndAnEvent) {
  const Outcome ran = run("./shared_pools", {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}});
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
}

TEST(SharedPools, TwoProcessesShareAPoolWhileBlocksMove) {
  const Outcome ran = run_preloaded(
      "./shared_pools",
      {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}, {"TESSERA_DEVICE_MEMORY", "16MiB"}, {"TESSERA_HOST_MEMORY", "128MiB"}});
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_EQ(ran.message, "");
}

// A pool is ours until it is exported; a block that it has by then is shared as ours.
TEST(SharedPools, ABlockFromBeforeTheExportIsSharedToo) {
  const Environment ample = {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}};
  const Outcome alone = run("./shared_pools late", ample);
  EXPECT_EQ(alone.output, "ok\n") << alone.message;
  const Outcome ran = run_preloaded(
      "./shared_pools late",
      {{"TESSERA_SOFTWARE_MEMORY", "64MiB"}, {"TESSERA_DEVICE_MEMORY", "16MiB"}, {"TESSERA_HOST_MEMORY", "128MiB"}});
  EXPECT_EQ(ran.exit_code, 0) << ran.message;
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_EQ(ran.message, "tessera: exposed: 2.00 MiB had to stay in device memory: cuMemPoolExportPointer\n");
}

}  // namespace
}  // namespace tessera::programs
