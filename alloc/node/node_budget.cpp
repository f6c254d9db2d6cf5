#include "node/node_budget.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kBetweenAsks{10};
// A wish that cannot be granted now is larger than the need, so that the others give back in few steps.
constexpr std::uint64_t kPiecesAhead = 4;

}  // namespace

NodeBudget::NodeBudget(Ledger& ledger, NodeResource resource, const Clock& clock, Limits limits)
    : ledger_(ledger), resource_(resource), clock_(clock), limits_(limits) {}

bool NodeBudget::take(Bytes bytes) {
  const Nanoseconds deadline = clock_.now() + limits_.patience;
  const MutexLock lock(mutex_);
  for (;;) {
    const Answer answer = try_take(bytes);
    refused_ = answer != Answer::kGranted;
    if (!refused_) return true;
    const Nanoseconds now = clock_.now();
    if (answer == Answer::kRefused || now < impatient_until_) return false;
    if (now >= deadline) {
      impatient_until_ = now + limits_.patience;
      return false;
    }
    changed_.wait_for(mutex_, kBetweenAsks);
  }
}

NodeBudget::Answer NodeBudget::try_take(Bytes bytes) {
  const Bytes needed = used_ + bytes;
  if (needed > granted_ && !alone_) {
    Answer answer = Answer::kWait;
    Bytes granted = granted_;
    const Status asked = ledger_.transact([&](Books& books) { answer = ask(books, needed, granted); });
    if (!is_lost(asked)) {
      wished_ = clock_.now();
      if (!asked.is_ok()) return Answer::kWait;
      granted_ = granted;
      if (answer != Answer::kGranted) return answer;
    }
  }
  used_ = needed;
  return Answer::kGranted;
}

NodeBudget::Answer NodeBudget::ask(Books& books, Bytes needed, Bytes& granted) const {
  LedgerAmount& amount = amount_in(books);
  amount.held = granted.value();
  amount.wanted = needed.value();
  const Entitlement now = books.entitlement(resource_);
  if (granted + now.may_take(granted) >= needed) {
    // A piece ahead, as far as no other program wants it.
    const Bytes ahead = std::min(round_up(needed, limits_.piece), std::max(needed, limits_.most));
    amount.wanted = ahead.value();
    granted = std::clamp(granted + books.entitlement(resource_).may_take(granted), needed, ahead);
    amount.held = granted.value();
    amount.wanted = granted.value();
    return Answer::kGranted;
  }
  if (needed > now.share) return Answer::kRefused;
  const Bytes wished = std::max(needed * 2, needed + limits_.piece * kPiecesAhead);
  amount.wanted = std::max(needed, std::min(wished, limits_.most)).value();
  return Answer::kWait;
}

void NodeBudget::give(Bytes bytes) {
  const MutexLock lock(mutex_);
  DCHECK_GE(used_, bytes);
  used_ -= bytes;
  if (alone_ || granted_ - used_ < limits_.piece * 2) return;
  Bytes granted = granted_;
  const Status given = ledger_.transact([&, used = used_](Books& books) { return_unused(books, used, granted); });
  if (!is_lost(given) && given.is_ok()) granted_ = granted;  // else look() tries again
}

Bytes NodeBudget::look() {
  const MutexLock lock(mutex_);
  if (alone_ || !ledger_.has_joined()) return {};
  Bytes granted = granted_, share = used_;
  const bool wishes = clock_.now() < wished_ + kWishLasts;
  const Status looked = ledger_.transact([&, used = used_](Books& books) {
    LedgerAmount& amount = amount_in(books);
    amount.held = granted.value();
    if (!wishes) amount.wanted = 0;
    return_unused(books, used, granted);
    share = books.entitlement(resource_).share;
  });
  if (is_lost(looked) || !looked.is_ok()) return {};
  granted_ = granted;
  return used_ - std::min(used_, share);
}

// Keeps the rest of the last piece, unless others are entitled to it.
void NodeBudget::return_unused(Books& books, Bytes used, Bytes& granted) const {
  LedgerAmount& amount = amount_in(books);
  const Bytes share = books.entitlement(resource_).share;
  granted = std::min(granted, std::max(used, std::min(round_up(used, limits_.piece), share)));
  amount.held = granted.value();
  amount.wanted = std::max(amount.wanted, amount.held);
}

bool NodeBudget::is_lost(const Status& status) {
  if (alone_ || status.is_ok() || status.code() == Code::kBusy) return alone_;
  log_line(LogLevel::kWarning, "memory is no longer shared with other programs: {}", status.to_string());
  alone_ = true;
  return true;
}

Bytes NodeBudget::used() const {
  const MutexLock lock(mutex_);
  return used_;
}

Bytes NodeBudget::granted() const {
  const MutexLock lock(mutex_);
  return granted_;
}

bool NodeBudget::is_refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

}  // namespace tessera
