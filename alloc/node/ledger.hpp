// What all programs of a machine hold and want of its resources: one row for each program in a shared file.
//
// There is no daemon: each program sweeps the rows of processes that have ended, decides by itself what it may hold
// (shares.hpp), and writes its own row only. It writes what it takes before it takes it and what it returned after it
// was returned, so the rows never show less than is held.
//
// A row of a process in another namespace of process ids cannot be checked: it is swept when its program has not looked
// for kUnseen. A program whose row is gone (it was stopped for that long, or the file was removed) writes it again with
// what it holds.
//
// The last program that closes its ledger removes the file. Most programs end without that, as their memory is theirs
// until then: their files are removed by the next program that starts (remove_ended_ledgers), or by a look from outside
// (view_ledger). A program that is about to join meanwhile makes a new file (LedgerFile::remove).
//
// Another process may change the weight of a row and set a limit in it: its program takes them over when it looks.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "node/ledger_file.hpp"
#include "node/row.hpp"
#include "node/shares.hpp"

namespace tessera {

// The valid rows of living programs.
struct Books {
  LedgerHeader header;
  std::vector<LedgerRow> rows;
  std::size_t own = 0;  // index in rows

  LedgerRow& own_row() { return rows[own]; }
  Bytes held(NodeResource resource) const;  // by all programs
  Entitlement entitlement(NodeResource resource) const;
};

using NodeBudgets = std::array<Bytes, kNodeResources>;

// The budgets in force, if a program has a row already; the file need not exist. Errors: as Ledger::transact.
Result<std::optional<NodeBudgets>> budgets_in_force(LedgerFile& file);

// Removes a ledger of which all programs have ended, or an empty one; any other file stays. Errors: kBusy when another
// process has its lock; kIo.
Status remove_if_ended(LedgerFile& file, const Clock& clock);
// The same for all ledgers of this version; one that cannot be removed stays.
void remove_ended_ledgers(const std::vector<std::string>& parents, const Clock& clock);

class Ledger {
 public:
  static constexpr Nanoseconds kUnseen{60'000'000'000};
  static constexpr Nanoseconds kBetweenSigns{5'000'000'000};  // a row is written at least so often by one that looks
  // How long a call waits for the lock, which others hold for microseconds unless they were stopped.
  static constexpr std::chrono::milliseconds kPatience{20};

  struct Self {
    ProcessId process;
    std::uint32_t weight = 1;
    std::string name{};  // cut at kRowName, other characters than printable ones are replaced
    std::string job{};   // equal for the programs of a job; "" for a program of no job
  };
  // `budgets` are those of the machine if this program is the first. REQUIRES: clock outlives it; weight is 1 to
  // kMostWeight; budgets are at most kMostNodeBytes.
  Ledger(std::unique_ptr<LedgerFile> file, const Clock& clock, Self self, NodeBudgets budgets);
  // Removes the own row, or the file where no other program has one.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Calls `act` with the books under the lock of the file, then writes the own row if it has changed. `act` is to be
  // quick. In a child of fork nothing happens: the row is its parent's. Errors: kBusy when the lock was not free for
  // kPatience; kNotSupported in a child; kOutOfMemory when all rows are in use; kDataLoss when the file is not a ledger
  // of this version; kIo. After an error from writing, the row may show either.
  Status transact(const std::function<void(Books&)>& act);
  // Whether transact() has written a row.
  bool has_joined() const;

 private:
  Status update(const std::function<void(Books&)>& act) REQUIRES_LOCK(mutex_);
  Result<LedgerHeader> header_of(std::span<const std::byte> file, bool is_first) REQUIRES_LOCK(mutex_);
  Status note_spent(LedgerHeader& header, const LedgerRow& ended) REQUIRES_LOCK(mutex_);
  LedgerRow fresh_row() const;
  bool is_own(const LedgerRow& row) const;
  Status write_row(std::size_t index, const LedgerRow& row) REQUIRES_LOCK(mutex_);

  const std::unique_ptr<LedgerFile> file_;
  const Clock& clock_;
  const Self self_;
  const NodeBudgets budgets_;
  mutable Mutex mutex_{LockRank::kNode};
  LedgerRow last_ GUARDED_BY(mutex_);  // the own row as it is in the file; free before it was written
};

}  // namespace tessera
