// Which runs are spilled to the file when host memory is full, and which are not.
#include <algorithm>

#include "policy/ranking.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using HostRun = tessera::Run;  // a test has a member Run() of its own

constexpr Bytes kBytes = 4_MiB;

// Evicts the most recently used run first.
class Backwards final : public Policy {
 public:
  std::string_view name() const override { return "backwards"; }
  Decision decide(const Snapshot& snapshot) const override {
    std::vector<RankedRun> ranked;
    for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, static_cast<double>(run.used.value())});
    return highest_first(std::move(ranked), snapshot.need);
  }
};

// Four runs fit on the device, two in host memory.
class HostEvictorTest : public ::testing::Test {
 protected:
  void write(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      ASSERT_OK(machine_.write(runs_[i], 1));
      ASSERT_OK(machine_.settle());
    }
  }
  Bytes in_host(std::size_t run) { return machine_.residency().figures().whereabouts(*runs_[run])[2]; }
  Bytes in_file(std::size_t run) { return machine_.residency().figures().whereabouts(*runs_[run])[3]; }

  ResidencyMachine machine_{{.device = 4 * kBytes, .host = 2 * kBytes, .file = 64_MiB, .policy = "lru"}};
  std::vector<HostRun*> runs_ = machine_.add_many(7, {0, 2});
};

TEST_F(HostEvictorTest, SpillsRunsNeededLatestFirst) {
  write(0, 7);
  EXPECT_EQ(in_file(0), kBytes);
  EXPECT_EQ(in_host(1), kBytes);
  EXPECT_EQ(in_host(2), kBytes);
  for (HostRun* run : runs_) EXPECT_OK(machine_.check(run, 1));
}

TEST_F(HostEvictorTest, SpillsTheEvictedRunWhenItIsNeededLatest) {
  machine_.residency().set_policy(std::make_unique<Backwards>());
  write(0, 7);
  EXPECT_EQ(in_host(3), kBytes);
  EXPECT_EQ(in_host(4), kBytes);
  EXPECT_EQ(in_file(5), kBytes);
}

// By the policy's rule it is the first victim, but a use is waiting for it.
TEST_F(HostEvictorTest, DoesNotSpillARunThatAUseWaitsFor) {
  write(0, 7);
  EXPECT_OK(machine_.check(runs_[1], 1));
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(machine_.residency().figures().stats().bytes_file_read, Bytes());
  EXPECT_EQ(in_file(2), kBytes);
}

TEST_F(HostEvictorTest, APlannedEvictionWaitsForHostRoom) {
  write(0, 2);
  for (const std::size_t run : {0u, 1u}) ASSERT_OK(machine_.evict(runs_[run]));
  write(2, 4);
  Iteration iteration;
  iteration.runs = {{.bytes = kBytes}, {.bytes = kBytes}};
  iteration.uses = {{.run = 0}, {.run = 1}};
  iteration.steps = {{Nanoseconds(1), 0, 1}, {Nanoseconds(1), 1, 2}};
  const std::unique_ptr<Policy> rest = make_policy("lru").take();
  const Gap gap{.run = 0, .after = 0, .until = 0, .wraps = true};
  machine_.residency().activate_plan(iteration, {"test", {{.gap = gap, .back_at = 0}}, rest.get()});
  ASSERT_OK(machine_.touch({runs_[2]}));
  while (in_host(2) != kBytes) {  // its copy out follows the write that makes room for it
    ASSERT_EQ(in_file(2), Bytes());
    machine_.residency().advance();
  }
  EXPECT_EQ(std::max(in_file(0), in_file(1)), kBytes);
  ASSERT_OK(machine_.touch({runs_[3]}));
}

// The large page has been there longest, but the file has no room for it.
TEST(HostEvictor, SpillsBasePagesWhenTheFileCannotTakeALargePage) {
  ResidencyMachine machine(
      {.device = 64_MiB, .host = 36_MiB, .file = 16_MiB, .policy = "lru", .sim = {.memory = 96_MiB}});
  const std::vector<HostRun*> runs = {machine.add({1, 0}), machine.add(), machine.add(), machine.add()};
  for (HostRun* run : runs) {
    ASSERT_OK(machine.write(run, 1));
    ASSERT_OK(machine.settle());
  }
  for (HostRun* run : runs) {
    ASSERT_OK(machine.evict(run));
    ASSERT_OK(machine.settle());
  }
  const auto at = [&](std::size_t run) { return machine.residency().figures().whereabouts(*runs[run]); };
  EXPECT_EQ(at(0)[2], 32_MiB);
  EXPECT_EQ(at(1)[3], 2_MiB) << "used longest ago of those that the file can take";
  EXPECT_EQ(at(3)[2], 2_MiB);
  for (HostRun* run : runs) EXPECT_OK(machine.check(run, 1));
}

}  // namespace
}  // namespace tessera
