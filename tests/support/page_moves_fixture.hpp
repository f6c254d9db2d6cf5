// The moves of pages over a small simulated device, and runs that tests control step by step.
//
// Thread safety: a test fixture.
#pragma once

#include <memory>

#include "residency/pages/page_moves.hpp"
#include "residency_fixture.hpp"

namespace tessera {

// By default the device has four base pages, the host two plus a staging reserve of two, and the file four.
class PageMovesTest : public testing::Test {
 protected:
  explicit PageMovesTest(
      const ResidencySetup& setup = {.device = 8_MiB, .host = 4_MiB, .staging = 4_MiB, .file = 8_MiB})
      : machine_(setup) {}
  ~PageMovesTest() override {
    moves_.reset();
    lanes_.reset();
  }

  PageMoves& moves() { return *moves_; }
  ResidencyStats& stats() { return stats_; }
  FaultDriver& fault() { return machine_.fault(); }
  SimDriver& sim() { return machine_.sim(); }
  MemoryFile& file_io() { return machine_.file(); }
  DeviceTier& device() { return machine_.tiers().device; }
  HostTier& host() { return machine_.tiers().host; }
  FileTier& file() { return machine_.tiers().file; }
  PeerTier& peer() { return *machine_.tiers().peer; }
  ZeroCopyTier& zero_copy() { return *machine_.tiers().zero_copy; }

  std::unique_ptr<tessera::Run> make_run(RunShape shape) {
    auto run = std::make_unique<tessera::Run>(machine_.reserve(shape), shape, TagId());
    run->live.store(1);
    return run;
  }
  std::unique_ptr<tessera::Run> resident_run(RunShape shape) {
    auto run = make_run(shape);
    EXPECT_OK(moves().mover.mount(pages(*run)));
    return run;
  }
  std::unique_ptr<tessera::Run> cold_run() {
    auto run = resident_run({0, 1});
    start_eviction(*run);
    return run;
  }
  std::vector<PageRef> pages(tessera::Run& run) {
    std::vector<PageRef> all;
    for (std::uint32_t i = 0; i < run.shape.pages(); ++i) all.push_back({&run, i});
    return all;
  }
  Status copy_out(PageRef page, Location to = Location::kHost) {
    return moves().mover.copy_out({&page, 1}, to).status();
  }
  void start_eviction(tessera::Run& run, Location to = Location::kHost) {
    for (const PageRef& page : pages(run)) {
      EXPECT_OK(copy_out(page, to));
      EXPECT_TRUE(moves().links.is_done(page, true).take());
    }
    EXPECT_OK(moves().mover.vacate(pages(run)));
  }
  // The run is freed.
  void take_all(tessera::Run& run) {
    run.live.store(0);
    std::vector<PageRef> mapped;
    for (const PageRef& page : pages(run)) {
      if (is_mapped(page->state)) mapped.push_back(page);
    }
    EXPECT_OK(moves().mover.vacate(mapped));
    for (const PageRef& page : pages(run)) moves().copies.drop_all(page);
  }
  void fail(DriverCall call, std::uint64_t nth) { fault().fail({call, nth, Status(Code::kDriver, "injected", 999)}); }
  void fill(tessera::Run& run, std::uint8_t value) {
    EXPECT_OK(machine_.sim().fill(run.address, value, run.shape.bytes(), StreamId(0)));
    EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
  }
  void wait_for_device() { EXPECT_OK(machine_.sim().synchronize(DeviceId(0))); }
  Address reserve(RunShape shape) { return machine_.reserve(shape); }
  static int first_byte(const tessera::Run& run) {
    return *reinterpret_cast<const unsigned char*>(run.address.value());
  }

 private:
  ResidencyMachine machine_;
  SteadyClock clock_;
  EventLog log_{clock_, 64};
  Gate gate_;
  ResidencyStats stats_;
  RunsByTrait by_trait_;
  std::atomic<bool> unseen_{false};
  std::unique_ptr<CopyLanes> lanes_ =
      CopyLanes::create(machine_.sim(), DeviceId(0),
                        machine_.tiers().peer != nullptr ? machine_.tiers().peer->lender_count() : 0)
          .take();
  std::unique_ptr<PageMoves> moves_ = std::make_unique<PageMoves>(PageMachine{.driver = machine_.fault(),
                                                                              .device = DeviceId(0),
                                                                              .tiers = machine_.tiers(),
                                                                              .lanes = *lanes_,
                                                                              .gate = gate_,
                                                                              .log = log_,
                                                                              .stats = stats_,
                                                                              .unseen = unseen_},
                                                                  by_trait_);
};

}  // namespace tessera
