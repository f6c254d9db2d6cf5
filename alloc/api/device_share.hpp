// This program's share of a device that it uses together with other programs of the ledger.
//
// Each program tells in the device's ledger what it holds and wants, and decides from all rows what it may hold
// (node/device_shares.hpp). What it holds beyond that goes back in pieces, on the pump's thread, while launches go on.
// Where working sets together exceed the device, a call that would fetch waits for its program's turn.
//
// Rows steer; the driver decides: nothing is held that the driver has not given, so together the programs never hold
// more than the device has. Where the ledger fails, the program goes on as if it were alone.
//
// Thread safety: every call may be made from any thread, after attach().
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/ledger_access.hpp"
#include "api/options.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "driver/driver.hpp"
#include "node/device_shares.hpp"
#include "node/ledger.hpp"
#include "residency/residency.hpp"
#include "tier/device_tier.hpp"

namespace tessera {

class DeviceShare {
 public:
  // What is evicted at once for others: some milliseconds of the link.
  static constexpr Bytes kPiece = 64_MiB;
  // How long a call waits for bytes that others hold beyond their shares, and do not give back.
  static constexpr Nanoseconds kPatience{3'000'000'000};
  // A turn lasts at least this many times as long as the change of turns has cost the program.
  static constexpr std::uint64_t kUseOfATurn = 8;
  static constexpr Nanoseconds kLongestTurn{30'000'000'000};
  // A program that grows may hold this part of the device more than it wants, in its turn: one that was given only what
  // it asked for would wait at each block that it allocates, until the others have looked and given that much.
  static constexpr std::uint64_t kAheadOfGrowth = 16;
  // How long a call waits for its program's turn, at most.
  static constexpr Nanoseconds kTurnPatience{60'000'000'000};

  // Null if the options share no device, if the device has no identity, or if there is no ledger: all but the first
  // are reported in a line. `total`: of the device. REQUIRES: ledgers and driver
  // outlive it.
  static std::unique_ptr<DeviceShare> open(const Options& options, LedgerAccess& ledgers, Driver& driver,
                                           DeviceId device, const DeviceProperties& properties);

  // Whether other programs use the device, as of the last look.
  bool has_others() const { return others_.load(std::memory_order_relaxed); }
  // `most`: that another process may set as the limit. REQUIRES: both outlive it; before any other call but
  // has_others().
  void attach(DeviceTier& tier, Residency& residency, Bytes most);

  // A call is about to fetch what it misses of what it needs: waits for the program's turn, and for what others are
  // about to give back. True: there was room for what it needs then. False: it is alone, or has waited for long enough.
  bool before_fetch(Bytes needed, Bytes missing);
  // For the pump: tells the others what this program holds and wants, and gives back what is theirs. Returns the time
  // until the next call.
  std::chrono::milliseconds look();
  // The program holds nothing on the device any more, and look() is not called again.
  void leave();
  // What the program could hold if it wanted as much as it may. Nothing while it is alone.
  std::optional<Bytes> reach();
  // The turns that it has had so far, and how long its calls have waited for them, added up over threads.
  std::uint64_t turns() const { return turns_.load(); }
  Nanoseconds waited() const { return Nanoseconds(waited_.load()); }

 private:
  struct View {
    Bytes ceiling, owed;
    Bytes limit;  // what it may hold at most: by its options, or what was set instead
    bool others = false, contended = false;
    bool must_wait = false;  // it is another program's turn
    bool has_turn = false;
  };
  enum class Wants : std::uint8_t { kWhatItUses, kAllItMay };
  struct Facts {  // about this program
    Bytes used, held, limit, uses, wanted, fetched;
    double in_rate = 0;  // of the link, in bytes per second; 0: unknown
    MemoryInfo memory;
  };

  DeviceShare(std::unique_ptr<LedgerFile> file, const Options& options, LedgerAccess& ledgers, Driver& driver,
              DeviceId device, Bytes total);
  Result<View> exchange(Bytes missing, Wants wants = Wants::kWhatItUses);
  Result<Facts> facts(Bytes missing) const;
  View decide(Books& books, Facts facts) REQUIRES_LOCK(mutex_);
  View decide_among(Books& books, Facts& facts) REQUIRES_LOCK(mutex_);
  View imagine(Books books, Facts facts) REQUIRES_LOCK(mutex_);
  // Replaces the limit among the facts by what another process has set.
  std::vector<DeviceClaimant> write_row(Books& books, Facts& facts, Nanoseconds now) REQUIRES_LOCK(mutex_);
  void lengthen_turn(LedgerRow& own, const View& view, const Facts& facts) REQUIRES_LOCK(mutex_);
  void note_lost(Nanoseconds since, Nanoseconds now) EXCLUDES_LOCK(mutex_);
  Bytes budget(const Books& books, const MemoryInfo& memory) REQUIRES_LOCK(mutex_);
  Bytes recent_peak(Bytes uses) REQUIRES_LOCK(mutex_);
  bool grows() const REQUIRES_LOCK(mutex_);
  void note_failure(const Status& status);
  void apply(const View& view);
  bool is_above(Bytes ceiling) const;
  bool shed(Bytes ceiling, Nanoseconds time);

  LedgerAccess& ledgers_;
  const Clock& clock_;
  Driver& driver_;
  const DeviceId device_;
  const Bytes total_, reserve_;
  const Nanoseconds slice_;  // the least; 0: no turns
  Ledger ledger_;
  DeviceTier* tier_ = nullptr;  // constant after attach()
  Residency* residency_ = nullptr;
  Bytes limit_, most_;  // constant after attach(): by its options, and what may be set instead
  std::atomic<bool> others_{false}, contended_{false}, failed_{false};
  std::atomic<std::uint32_t> waiting_{0};  // calls
  std::atomic<std::uint64_t> waited_{0};   // nanoseconds, for turns, by all calls
  std::atomic<std::uint64_t> turns_{0};
  Mutex mutex_{LockRank::kNodeBudget};
  ResidencyFigures::Progress progress_ GUARDED_BY(mutex_);  // when it last changed,
  Nanoseconds active_ GUARDED_BY(mutex_);                   // and when that was
  // Device memory that no row has: the least that was seen in each of the last periods; 0 before.
  std::array<Bytes, 8> outside_ GUARDED_BY(mutex_){};
  std::uint64_t period_ GUARDED_BY(mutex_) = 0;
  // The most that the program has used in each of the last seconds in which it did not wait.
  std::array<Bytes, 8> peaks_ GUARDED_BY(mutex_){};
  std::size_t newest_peak_ GUARDED_BY(mutex_) = 0;
  Nanoseconds next_peak_ GUARDED_BY(mutex_);   // when the next of these seconds begins
  Nanoseconds lost_ GUARDED_BY(mutex_);        // by waits for what others give back, in its own turn so far,
  Nanoseconds lost_until_ GUARDED_BY(mutex_);  // and up to when that was counted
  Bytes fetched_before_ GUARDED_BY(mutex_);    // what had been fetched when the turn began
};

}  // namespace tessera
