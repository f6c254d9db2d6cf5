// Makes every driver call that moves pages fail once: the error surfaces, a second attempt succeeds, no byte is lost,
// and everything is released.
#include <functional>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

constexpr int kTries = 3;

struct Step {
  const char* what;
  std::function<Status()> make;
};

// A sequence with every kind of move: eviction to host and file, fetch, clean eviction, prefetch, explicit eviction and
// pin, on two streams, with a run that is mapped elsewhere, one that is freed, and a stream that is destroyed.
class Life {
 public:
  enum class Uses : bool { kAnnounced, kUnseen };

  explicit Life(const ResidencySetup& setup, Uses uses = Uses::kAnnounced) : machine_(setup) {
    if (uses == Uses::kUnseen) machine_.residency().expect_unseen_work();
    for (int i = 0; i < 7; ++i) runs_.push_back(machine_.add());
    runs_.push_back(machine_.add({0, 2}));
    first_ = machine_.stream();
    second_ = machine_.stream();
    mapped_at_ = machine_.reserve({1, 0});
    own_ = machine_.reserve({0, 2});
    range_ = machine_.residency().ranges().add(mapped_at_, TagId());
  }

  ResidencyMachine& machine() { return machine_; }

  void live(const FaultDriver::Fault& fault) {
    machine_.fault().fail(fault);
    for (const Step& step : steps()) {
      Status status;
      int tries = 0;
      do {
        status = step.make();
        if (status.is_ok()) break;
        // A fault may make a step fail with an error of its own; it must not be hidden by other errors.
        EXPECT_TRUE(status.code() == Code::kDriver || status.code() == Code::kOutOfMemory ||
                    status.code() == Code::kNotReady)
            << step.what << ": " << status.to_string();
      } while (++tries < kTries);
      EXPECT_TRUE(status.is_ok()) << step.what << ": " << status.to_string();
      EXPECT_EQ(machine_.valid(), "ok") << step.what;
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  std::vector<Step> steps() {
    std::vector<Step> steps;
    const auto add = [&](const char* what, std::function<Status()> make) { steps.push_back({what, std::move(make)}); };
    add("write two pages", [this] { return machine_.write(runs_[7], 7, first_); });
    add("evict them at once", [this] { return machine_.evict(runs_[7]); });
    add("check them", [this] { return machine_.check(runs_[7], 7, first_); });
    add("map them in a range", [this] { return machine_.residency().runs().rehome(runs_[7], mapped_at_, range_); });
    add("write them there", [this] { return machine_.write(runs_[7], 7, first_); });
    add("use the range", [this] { return machine_.touch({range_}, Access::kWrite, second_); });
    add("unmap them", [this] { return machine_.residency().runs().rehome(runs_[7], own_); });
    add("check them elsewhere",
        [this] { return machine_.check(runs_[7], mapped_at_.value() + 7 - runs_[7]->address.value(), first_); });
    for (std::uint64_t i = 0; i < runs_.size(); ++i) {
      add("write", [this, i] { return machine_.write(runs_[i], i, i % 2 == 0 ? first_ : second_); });
    }
    // As for a launch that gets a block but does not write it: the block is evicted, fetched, and fingerprinted.
    for (int i = 0; i < 2; ++i) {
      add("touch", [this] { return machine_.touch({runs_[0]}, Access::kWrite); });
      add("evict what may have changed", [this] { return machine_.evict(runs_[0]); });
    }
    add("settle", [this] { return machine_.settle(); });
    for (std::uint64_t i = 0; i < runs_.size(); ++i) {
      add("check", [this, i] { return machine_.check(runs_[i], i, second_); });
    }
    add("prefetch", [this] { return machine_.residency().prefetch(std::span(runs_).first(2)); });
    add("evict", [this] { return machine_.evict(runs_[1]); });
    add("pin", [this] { return machine_.residency().pins().pin(runs_[1]); });
    add("look at what is pinned", [this] { return machine_.check(runs_[1], 1, first_); });
    add("unpin",
        [this] { return runs_[1]->pins.load() == 0 ? Status() : machine_.residency().pins().unpin(runs_[1]); });
    add("retire", [this] { return machine_.residency().streams().retire(first_); });
    add("remove", [this] {
      if (runs_.size() < 8) return Status();
      Run* run = runs_.back();
      runs_.pop_back();
      const Status removed = machine_.residency().runs().remove(run);  // the run is gone in any case
      return removed.code() == Code::kDriver ? Status() : removed;
    });
    add("advance", [this] {
      machine_.residency().advance();
      return Status();
    });
    for (std::uint64_t i = 0; i < 7; ++i) {
      add("check at the end", [this, i] { return machine_.check(runs_[i], i, second_); });
    }
    add("settle at the end", [this] { return machine_.settle(); });
    return steps;
  }

  ResidencyMachine machine_;
  std::vector<Run*> runs_;
  StreamId first_, second_;
  Address mapped_at_, own_;
  Run* range_ = nullptr;
};

const ResidencySetup kTracked = {.device = 8_MiB, .host = 4_MiB, .file = 32_MiB};
const ResidencySetup kHostBacked = {.device = 8_MiB, .backing = 32_MiB};

void every_call(std::optional<DriverCall> call, const Status& status, const ResidencySetup& setup = kTracked,
                Life::Uses uses = Life::Uses::kAnnounced) {
  for (std::uint64_t nth = 1;; ++nth) {
    SCOPED_TRACE(testing::Message() << "call " << nth);
    Life life(setup, uses);
    life.live({call, nth, status});
    const bool struck = life.machine().fault().failed() > 0;
    life.machine().finish();
    if (!struck || testing::Test::HasFailure()) {
      EXPECT_GT(nth, 1U) << "the life makes no such call";
      return;
    }
  }
}

class EveryCallFailsOnce : public testing::TestWithParam<DriverCall> {};

TEST_P(EveryCallFailsOnce, WithAnErrorOfTheDriver) { every_call(GetParam(), Status(Code::kDriver, "injected", 999)); }

INSTANTIATE_TEST_SUITE_P(Calls, EveryCallFailsOnce,
                         testing::Values(DriverCall::kCreateFrame, DriverCall::kMap, DriverCall::kSetAccess,
                                         DriverCall::kUnmap, DriverCall::kRegisterHost, DriverCall::kWaitEvent,
                                         DriverCall::kCreateEvent, DriverCall::kRecordEvent, DriverCall::kQueryEvent,
                                         DriverCall::kSynchronizeEvent, DriverCall::kCopyIn, DriverCall::kCopyOut,
                                         DriverCall::kCopyAll, DriverCall::kFingerprint),
                         [](const auto& info) { return std::string(name_of(info.param)); });

class EveryCallFailsOnceUnseen : public testing::TestWithParam<DriverCall> {};

TEST_P(EveryCallFailsOnceUnseen, WithAnErrorOfTheDriver) {
  every_call(GetParam(), Status(Code::kDriver, "injected", 999), kTracked, Life::Uses::kUnseen);
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryCallFailsOnceUnseen,
                         testing::Values(DriverCall::kReserve, DriverCall::kMap, DriverCall::kSetAccess,
                                         DriverCall::kUnmap, DriverCall::kCreateEvent, DriverCall::kRecordEvent,
                                         DriverCall::kQueryEvent, DriverCall::kSynchronizeEvent, DriverCall::kCopyOut,
                                         DriverCall::kCopyAll, DriverCall::kFingerprint),
                         [](const auto& info) { return std::string(name_of(info.param)); });

class EveryCallFailsOnceHostBacked : public testing::TestWithParam<DriverCall> {};

TEST_P(EveryCallFailsOnceHostBacked, WithAnErrorOfTheDriver) {
  every_call(GetParam(), Status(Code::kDriver, "injected", 999), kHostBacked);
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryCallFailsOnceHostBacked,
                         testing::Values(DriverCall::kCreateFrame, DriverCall::kReserve, DriverCall::kMap,
                                         DriverCall::kSetAccess, DriverCall::kUnmap, DriverCall::kCopy,
                                         DriverCall::kSynchronizeStream, DriverCall::kRecordEvent,
                                         DriverCall::kSynchronizeEvent),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(SomeCallsFailOnce, WhenFramesAreOut) {
  every_call(DriverCall::kCreateFrame, Status(Code::kOutOfMemory, "injected", 2));
}

TEST(SomeCallsFailOnce, WhenAccessIsNotReady) {
  every_call(DriverCall::kSetAccess, Status(Code::kNotReady, "injected", 600));
}

}  // namespace
}  // namespace tessera
