#include "node/device_shares.hpp"

#include <algorithm>

#include "node/shares.hpp"

namespace tessera {
namespace {

// The longest that the option time-slice allows; a program extends its turn by less than that.
constexpr Nanoseconds kLongestSlice{60'000'000'000};

// A time that is far ahead is none: a row that claims one would be active for ever.
bool within(std::uint64_t then, Nanoseconds now, Nanoseconds time) {
  const Nanoseconds at(then);
  return then != 0 && std::max(now, at) - std::min(now, at) <= time;
}

// Divides `rest` among those chosen, and takes their shares off it.
template <class Choose, class Wanted>
void divide(Bytes& rest, std::span<const DeviceClaimant> claimants, std::vector<Bytes>& shares, Choose is_chosen,
            Wanted wanted_by) {
  std::vector<Claimant> chosen;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < claimants.size(); ++i) {
    if (!is_chosen(i)) continue;
    chosen.push_back({Bytes(), wanted_by(i), claimants[i].weight});
    places.push_back(i);
  }
  const std::vector<Bytes> divided = fair_shares(rest, chosen);
  for (std::size_t i = 0; i < places.size(); ++i) {
    shares[places[i]] = divided[i];
    rest -= divided[i];
  }
}

}  // namespace

DeviceClaimant DeviceClaimant::of(const LedgerRow& row, Nanoseconds now) {
  const LedgerAmount& amount = row.of(NodeResource::kDevice);
  const bool waits = within(row.waits_ns, now, kTurnWaitLasts);
  return {Bytes(amount.held),
          Bytes(amount.wanted),
          row.weight,
          waits || within(row.active_ns, now, kDeviceIdleAfter),
          waits,
          std::min(now, Nanoseconds(row.turn_ns)),
          std::min(kLongestSlice, Nanoseconds(row.slice_ns)),
          Bytes(row.ahead)};
}

Bytes DeviceShares::ceiling(Bytes budget, std::size_t index) const {
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i != index) budget -= std::min(budget, shares[i]);
  }
  return budget;
}

Bytes DeviceShares::owed(Bytes budget, std::span<const DeviceClaimant> claimants, std::size_t to) const {
  Bytes sum;
  for (std::size_t i = 0; i < claimants.size(); ++i) {
    if (i != to) sum += claimants[i].held - std::min(claimants[i].held, ceiling(budget, i));
  }
  return sum;
}

DeviceShares device_shares(Bytes budget, std::span<const DeviceClaimant> claimants, Turns turns) {
  DeviceShares result;
  result.shares.resize(claimants.size());
  Bytes wanted;
  std::size_t active = 0;
  for (const DeviceClaimant& claimant : claimants) {
    if (!claimant.active) continue;
    wanted += claimant.wanted;
    ++active;
  }
  result.contended = active > 1 && wanted > budget;
  if (result.contended && turns == Turns::kOneAtATime) {
    for (std::size_t i = 0; i < claimants.size(); ++i) {
      const bool later = !result.holder || claimants[i].turn > claimants[*result.holder].turn;
      if (claimants[i].active && claimants[i].turn != Nanoseconds() && later) result.holder = i;
    }
  }
  Bytes rest = budget;
  const auto holds = [&](std::size_t i) { return result.holder == i; };
  const auto wanted_by = [&](std::size_t i) { return claimants[i].wanted + (holds(i) ? claimants[i].ahead : Bytes()); };
  divide(rest, claimants, result.shares, holds, wanted_by);
  divide(
      rest, claimants, result.shares, [&](std::size_t i) { return !holds(i) && claimants[i].active; }, wanted_by);
  divide(
      rest, claimants, result.shares, [&](std::size_t i) { return !claimants[i].active; }, wanted_by);
  return result;
}

bool may_begin_turn(const DeviceShares& shares, std::span<const DeviceClaimant> claimants, std::size_t index,
                    Nanoseconds now) {
  if (!shares.contended || shares.holder == index) return false;
  if (shares.holder && now < claimants[*shares.holder].turn + claimants[*shares.holder].slice) return false;
  for (std::size_t i = 0; i < claimants.size(); ++i) {
    const bool other = i != index && shares.holder != i;
    if (other && claimants[i].waits && claimants[i].turn < claimants[index].turn) return false;
  }
  return true;
}

}  // namespace tessera
