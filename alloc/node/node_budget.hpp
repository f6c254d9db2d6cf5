// One program's part of a resource that all programs of the machine share.
//
// What the program takes is covered by what it has been granted in the ledger, in large pieces, so most calls touch no
// file. A call that is entitled to more than is free waits for the others to give back, for a bounded time.
//
// Where the ledger fails, one line reports it and everything is granted from then on: the options' own limits remain.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <string>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/units.hpp"
#include "node/ledger.hpp"

namespace tessera {

class NodeBudget {
 public:
  // How long take() waits for memory that others hold beyond their shares. They look four times a second, and copy what
  // they cannot drop. After a wait in vain no call waits for as long again: what the others hold is in use.
  static constexpr Nanoseconds kPatience{3'000'000'000};
  // A wish that could not be granted is forgotten after this time, unless it is repeated.
  static constexpr Nanoseconds kWishLasts{2'000'000'000};

  struct Limits {
    Bytes piece;  // the granularity of grants
    Bytes most;   // that this program may hold; more is never wished for
    Nanoseconds patience = kPatience;
  };
  // REQUIRES: ledger and clock outlive it; piece is not zero.
  NodeBudget(Ledger& ledger, NodeResource resource, const Clock& clock, Limits limits);
  // REQUIRES: everything was given back.
  ~NodeBudget() = default;
  NodeBudget(const NodeBudget&) = delete;
  NodeBudget& operator=(const NodeBudget&) = delete;

  // Call before the bytes are taken. False if the share does not allow it now.
  bool take(Bytes bytes);
  // Call after the bytes were returned to the machine.
  void give(Bytes bytes);
  // Call a few times a second: returns grants that are not used, and the bytes that the program should give back
  // because others are entitled to them. Does nothing before the first take().
  Bytes look();

  Bytes used() const;
  Bytes granted() const;
  // Whether the last take() was refused, and nothing was granted since.
  bool is_refused() const;

 private:
  enum class Answer { kGranted, kWait, kRefused };
  Answer try_take(Bytes bytes) REQUIRES_LOCK(mutex_);
  Answer ask(Books& books, Bytes needed, Bytes& granted) const;
  void return_unused(Books& books, Bytes used, Bytes& granted) const;
  bool is_lost(const Status& status) REQUIRES_LOCK(mutex_);
  LedgerAmount& amount_in(Books& books) const { return books.own_row().of(resource_); }

  Ledger& ledger_;
  const NodeResource resource_;
  const Clock& clock_;
  const Limits limits_;
  mutable Mutex mutex_{LockRank::kNodeBudget};
  Condition changed_;
  Bytes used_ GUARDED_BY(mutex_);
  Bytes granted_ GUARDED_BY(mutex_);  // at least used_, unless alone; the row never shows less
  Nanoseconds wished_ GUARDED_BY(mutex_);
  Nanoseconds impatient_until_ GUARDED_BY(mutex_);
  bool refused_ GUARDED_BY(mutex_) = false;
  bool alone_ GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
