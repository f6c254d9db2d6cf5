#include "node/device_view.hpp"

#include <algorithm>

#include "node/device_shares.hpp"

namespace tessera {
namespace {

// Programs find nearly the same; the one that looked last is the least out of date.
Bytes budget_of(const std::vector<LedgerRow>& rows) {
  const auto last = std::ranges::max_element(rows, {}, &LedgerRow::seen_ns);
  return last == rows.end() || rows.size() < 2 ? Bytes() : Bytes(last->budget);
}

}  // namespace

DeviceView device_view(const LedgerView& ledger, Nanoseconds now) {
  DeviceView view{ledger.header.budget(NodeResource::kDevice), budget_of(ledger.rows), {}};
  std::vector<DeviceClaimant> claimants;
  for (const LedgerRow& row : ledger.rows) claimants.push_back(DeviceClaimant::of(row, now));
  DeviceShares shares;
  if (view.budget) shares = device_shares(view.budget, claimants, Turns::kOneAtATime);
  for (std::size_t i = 0; i < ledger.rows.size(); ++i) {
    DeviceProgram program{ledger.rows[i], claimants[i].active};
    if (shares.holder == i) {
      const Nanoseconds end = claimants[i].turn + claimants[i].slice;
      program.turn = Turn::kHas;
      program.left = end - std::min(end, now);
    } else if (claimants[i].waits) {
      program.turn = Turn::kWaits;
    }
    view.programs.push_back(program);
  }
  return view;
}

}  // namespace tessera
