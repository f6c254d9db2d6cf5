// How programs share one resource of a machine: a pure function of what each holds and wants.
//
// Shares are fair by weight (weighted max-min fairness): a program that wants less than its part gets what it wants,
// and the rest is divided among the others in the same way. What a program does not want is thereby lent to those that
// want more, and it is theirs no longer once that program wants it.
//
// A job divides what it gets among its programs in the same way. Beside others it counts as one program, which holds
// and wants what all of its programs do, with the greatest of their weights: eight ranks beside a notebook have half,
// not eight ninths.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace tessera {

struct Claimant {
  Bytes held{};
  Bytes wanted{};  // in all; what it holds counts as wanted too
  std::uint32_t weight = 1;
  std::uint64_t job = 0;  // 0: a program of no job
};

// What each claimant may hold now. The sum is at most `budget`; no share exceeds what its claimant wants. REQUIRES:
// weights are at least 1, their sum fits into 32 bits, and `budget` is less than 2^63.
std::vector<Bytes> fair_shares(Bytes budget, std::span<const Claimant> claimants);

// What one claimant may hold now, and what of it is free.
struct Entitlement {
  Bytes share;    // of fair_shares()
  Bytes free;     // that no claimant holds
  Bytes surplus;  // that it holds beyond its share, and should give back
  // How much it may take now: never so much that all together hold more than the budget.
  Bytes may_take(Bytes held) const {
    const Bytes room = share > held ? share - held : Bytes();
    return room < free ? room : free;
  }
};
// REQUIRES: as fair_shares(); index < claimants.size().
Entitlement entitlement(Bytes budget, std::span<const Claimant> claimants, std::size_t index);

}  // namespace tessera
