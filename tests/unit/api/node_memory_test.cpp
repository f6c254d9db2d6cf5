#include "api/node_memory.hpp"

#include <fstream>

#include "ledger_fixture.hpp"

namespace tessera {
namespace {

class NodeMemoryTest : public LedgerTest {
 protected:
  static Options options(Bytes node_host = 640_MiB) {
    Options options;
    options.node_host_memory = SizeOrShare(node_host);
    return options;
  }
  std::unique_ptr<NodeMemory> node(const Options& options) { return NodeMemory::open(options, clock_, open()); }
  static bool take(NodeMemory& node, Bytes bytes) { return node.host().take(bytes); }
};

TEST_F(NodeMemoryTest, ProgramsWithBudgetsOfTheirOwnShareNothing) {
  Options off = options();
  off.node = "off";
  EXPECT_EQ(node(off), nullptr);
  Options own = options();
  own.host_memory = SizeOrShare(64_MiB);
  EXPECT_EQ(node(own), nullptr);
}

TEST_F(NodeMemoryTest, TheFirstProgramDecides) {
  const auto first = node(options(640_MiB));
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->host_limit(), 640_MiB);
  ASSERT_TRUE(take(*first, 64_MiB));
  const auto other = node(options(128_MiB));
  EXPECT_EQ(other->host_limit(), 640_MiB);
  Options by_itself;
  EXPECT_EQ(node(by_itself)->host_limit(), 320_MiB) << "half of all for one, if nothing else was said";
  first->host().give(64_MiB);
}

TEST_F(NodeMemoryTest, TheJobIsThatOfTheLauncherUnlessTheOptionSaysOtherwise) {
  Options launched = options();
  launched.job_of_launcher = "slurm 4711";
  const auto jobs = [&](const std::string& node_job) {
    launched.node_job = node_job;
    const auto rank = node(launched);
    EXPECT_TRUE(take(*rank, 64_MiB));
    const LedgerRow row = rows().at(0);
    rank->host().give(64_MiB);
    return std::pair{row.job != 0, std::string(row.job_name.data())};
  };
  EXPECT_EQ(jobs("auto"), std::pair(true, std::string("slurm 4711")));
  EXPECT_EQ(jobs("sweep"), std::pair(true, std::string("sweep")));
  EXPECT_EQ(jobs("off"), std::pair(false, std::string()));
}

TEST_F(NodeMemoryTest, ADamagedLedgerIsNotUsed) {
  const auto first = node(options());
  ASSERT_TRUE(take(*first, 64_MiB));
  std::ofstream(path(), std::ios::trunc) << "nothing";
  EXPECT_EQ(node(options()), nullptr);
  first->host().give(64_MiB);
}

// Counts what is open; refuses when it is told to.
class LimitedPages final : public HostPages {
 public:
  bool open(void*, Bytes bytes) override {
    if (refuses) errno = ENOMEM;
    if (!refuses) is_open += bytes;
    return !refuses;
  }
  void close(void*, Bytes bytes) override { is_open -= bytes; }

  bool refuses = false;
  Bytes is_open;
};

TEST_F(NodeMemoryTest, PagesAreOpenedAsFarAsTheBudgetAllows) {
  const auto first = node(options(128_MiB));
  LimitedPages below;
  NodeHostPages pages(below, first->host());
  EXPECT_TRUE(pages.open(nullptr, 100_MiB));
  EXPECT_FALSE(pages.open(nullptr, 100_MiB));
  EXPECT_EQ(errno, kHostPagesInUseElsewhere);
  EXPECT_EQ(below.is_open, 100_MiB);
  pages.close(nullptr, 100_MiB);
  EXPECT_EQ(below.is_open, Bytes());
  EXPECT_EQ(first->host().used(), Bytes());
}

TEST_F(NodeMemoryTest, PagesLeaveRoomForReserves) {
  const auto first = node(options(128_MiB));
  LimitedPages below;
  {
    NodeHostPages pages(below, first->host());
    pages.keep(32_MiB);
    EXPECT_EQ(first->host().used(), Bytes());
    EXPECT_FALSE(pages.open(nullptr, 100_MiB));
    EXPECT_TRUE(pages.open(nullptr, 96_MiB));
    EXPECT_EQ(first->host().used(), 128_MiB);
    EXPECT_EQ(below.is_open, 96_MiB);
    pages.close(nullptr, 96_MiB);
  }
  EXPECT_EQ(first->host().used(), Bytes());
}

TEST_F(NodeMemoryTest, WhatTheMachineRefusesIsNotUsed) {
  const auto first = node(options());
  LimitedPages below;
  NodeHostPages pages(below, first->host());
  below.refuses = true;
  EXPECT_FALSE(pages.open(nullptr, 100_MiB));
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(first->host().used(), Bytes());
}

}  // namespace
}  // namespace tessera
