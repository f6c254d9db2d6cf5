#include "node/shares.hpp"

#include <algorithm>

namespace tessera {
namespace {

Bytes demand_of(const Claimant& claimant) { return std::max(claimant.held, claimant.wanted); }

Bytes part_of(Bytes whole, std::uint64_t weight, std::uint64_t weights) {
  const auto part = static_cast<unsigned __int128>(whole.value()) * weight / weights;
  return Bytes(static_cast<std::uint64_t>(part));
}

}  // namespace

// In the order of what they want for their weight: what the first ones leave raises the parts of all others.
std::vector<Bytes> fair_shares(Bytes budget, std::span<const Claimant> claimants) {
  std::vector<std::size_t> order(claimants.size());
  std::uint64_t weights = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    weights += claimants[i].weight;
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto scaled = [&](std::size_t i, std::size_t by) {
      return static_cast<unsigned __int128>(demand_of(claimants[i]).value()) * claimants[by].weight;
    };
    return scaled(a, b) < scaled(b, a);
  });
  std::vector<Bytes> shares(claimants.size());
  Bytes rest = budget;
  for (const std::size_t i : order) {
    shares[i] = std::min(demand_of(claimants[i]), part_of(rest, claimants[i].weight, weights));
    rest -= shares[i];
    weights -= claimants[i].weight;
  }
  return shares;
}

Entitlement entitlement(Bytes budget, std::span<const Claimant> claimants, std::size_t index) {
  Bytes left = budget;
  for (const Claimant& claimant : claimants) left -= std::min(left, claimant.held);
  const Bytes share = fair_shares(budget, claimants)[index];
  const Bytes held = claimants[index].held;
  return {share, left, held > share ? held - share : Bytes()};
}

}  // namespace tessera
