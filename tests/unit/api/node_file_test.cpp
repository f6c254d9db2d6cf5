#include "api/node_file.hpp"

#include "api/node_memory.hpp"
#include "ledger_fixture.hpp"

namespace tessera {
namespace {

constexpr auto kFile = NodeResource::kFile;

// Programs that share 32 MiB of spill files and may write 64 MiB together.
class NodeFileTest : public LedgerTest {
 protected:
  Options options() const {
    Options options;
    options.host_memory = SizeOrShare(64_MiB);
    options.file_dir = folder_;
    options.node_file_memory = 32_MiB;
    options.node_file_write_budget = 64_MiB;
    return options;
  }
  std::unique_ptr<NodeMemory> node(const Options& options) { return NodeMemory::open(options, clock_, open()); }
  std::unique_ptr<FileTier> tier() { return FileTier::open(folder_, 128_MiB).take(); }
  Bytes in_ledger(NodeResource resource) {
    Bytes sum;
    for (const LedgerRow& row : rows()) sum += Bytes(row.of(resource).held);
    return sum;
  }
};

TEST_F(NodeFileTest, FramesAreTakenAsFarAsTheNodeAllows) {
  const auto one = node(options()), other = node(options());
  const auto first = tier(), second = tier();
  one->cover(*first);
  other->cover(*second);
  EXPECT_EQ(first->usage().capacity, 32_MiB);
  std::vector<Frame> frames;
  for (int i = 0; i < 10; ++i) frames.push_back(first->take(PageClass::kBase).take());
  EXPECT_GE(in_ledger(kFile), kBasePage * 10);
  std::vector<Frame> others;
  for (auto frame = second->take(PageClass::kBase); frame.is_ok(); frame = second->take(PageClass::kBase)) {
    others.push_back(frame.value());
    ASSERT_LE(in_ledger(kFile), 32_MiB);
  }
  EXPECT_EQ(frames.size() + others.size(), 32_MiB / kBasePage);
  for (const Frame& frame : frames) first->give_back(frame);
  one->file().look();
  const auto one_more = second->take(PageClass::kBase);
  ASSERT_TRUE(one_more.is_ok()) << "what was given back is free";
  others.push_back(one_more.value());
  EXPECT_LE(in_ledger(kFile), 32_MiB);
  for (const Frame& frame : others) second->give_back(frame);
}

TEST_F(NodeFileTest, WhatADeadProgramHeldIsFreeAtOnce) {
  const pid_t child = start([&] {
    const auto one = node(options());
    const auto files = tier();
    one->cover(*files);
    for (int i = 0; i < 16; ++i) (void)files->take(PageClass::kBase).is_ok();
    ::raise(SIGKILL);
  });
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(in_ledger(kFile), 32_MiB);
  const auto own = node(options());
  EXPECT_TRUE(own->file().take(32_MiB));
  EXPECT_FALSE(own->file().take(2_MiB));
  own->file().give(32_MiB);
}

TEST_F(NodeFileTest, TheWriteBudgetIsForAllAndNotReturned) {
  {
    const auto one = node(options());
    EXPECT_TRUE(one->file().take_writes(40_MiB));
    const auto other = node(options());
    EXPECT_FALSE(other->file().take_writes(40_MiB));
    EXPECT_TRUE(other->file().take_writes(8_MiB));
    Options later = options();
    later.node_file_write_budget.reset();
    EXPECT_FALSE(node(later)->file().take_writes(40_MiB)) << "it is there already";
  }
  const auto fresh = node(options());
  EXPECT_TRUE(fresh->file().take_writes(64_MiB)) << "none runs any more";
}

TEST_F(NodeFileTest, ASpentWriteBudgetEndsTheWrites) {
  const auto one = node(options());
  const auto files = tier();
  one->cover(*files);
  ASSERT_TRUE(one->file().take_writes(64_MiB));
  const Frame frame = files->take(PageClass::kBase).take();
  const std::vector<std::byte> bytes(kBasePage.value());
  EXPECT_EQ(files->write(frame, bytes.data()).status().code(), Code::kOutOfMemory);
  EXPECT_FALSE(files->takes_writes());
  files->give_back(frame);
}

TEST_F(NodeFileTest, BudgetsOfItsOwnAreNotShared) {
  Options own = options();
  own.file_memory = 64_MiB;
  own.file_write_budget = 1_GiB;
  EXPECT_EQ(node(own), nullptr);
  own.file_write_budget.reset();
  const auto one = node(own);
  const auto files = tier();
  one->cover(*files);
  EXPECT_EQ(files->usage().capacity, 128_MiB);
  EXPECT_TRUE(one->file().take(64_MiB));
  EXPECT_EQ(in_ledger(kFile), Bytes());
  EXPECT_FALSE(one->file().take_writes(65_MiB)) << "writes are";
}

// The first program that has files decides, not the first program.
TEST_F(NodeFileTest, TheFirstWithFilesSetsTheirBudget) {
  Options none;
  none.node_host_memory = SizeOrShare(640_MiB);
  const auto first = node(none);
  ASSERT_TRUE(first->host().take(64_MiB));
  const auto second = node(options());
  ASSERT_TRUE(second->file().take(kBasePage));
  Options larger = options();
  larger.node_file_memory = 1_GiB;
  const auto third = node(larger), files = node(larger);
  const auto spill = tier();
  third->cover(*spill);
  EXPECT_EQ(spill->usage().capacity, 32_MiB);
  first->host().give(64_MiB);
  second->file().give(kBasePage);
}

}  // namespace
}  // namespace tessera
