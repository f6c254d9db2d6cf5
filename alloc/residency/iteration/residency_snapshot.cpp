#include "residency/iteration/residency_snapshot.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// A page in transfer counts as at its destination: it arrives there under every strategy.
Locations locations_of(const Run& run, const Page& page) {
  Locations copies;
  if (page.peer) copies |= Location::kPeer;
  if (page.host) copies |= Location::kHost;
  if (page.file) copies |= Location::kFile;
  switch (page.state) {
    case PageState::kResident:
    case PageState::kFetching:
    case PageState::kApartFetching: return Location::kDevice | (is_clean(run, page) ? copies : Locations());
    case PageState::kChecking:
    case PageState::kApart:
    case PageState::kApartChecking:
    case PageState::kBlank:
    case PageState::kRecomputing: return Location::kDevice;
    case PageState::kParting:
      return page.eviction.asks ? Location::kDevice : page.peer ? Location::kPeer : Location::kHost;
    case PageState::kEvicting:
    case PageState::kApartEvicting: return page.peer ? Location::kPeer : Location::kHost;
    case PageState::kSpilling: return Location::kFile;
    case PageState::kLoading:
    case PageState::kZeroCopy:
    case PageState::kReachable:
    case PageState::kCold: return copies;
    case PageState::kEmpty:
    case PageState::kGone:
    case PageState::kLost: return Locations();
  }
  return Locations();
}

std::vector<Locations> locations_of(Run& run) {
  std::vector<Locations> places;
  for (const PageRef& page : pages_of(run)) places.push_back(locations_of(*page.run, *page));
  return places;
}

}  // namespace

// Several runs of the iteration may use one address in turn: it counts for the one that used it last. Small runs are
// fetched by their first use. While nothing has been written to the file, a simulation started with everything evicted
// that has to be is just as good.
Iteration ResidencySnapshot::iteration() const {
  const auto was_written = [](const auto& run) {
    return static_cast<bool>(run->cost.moved[static_cast<std::size_t>(Link::kFileWrite)]);
  };
  Iteration now = learned_.iteration();
  if (!learned_.in_sync() || std::ranges::none_of(runs_, was_written)) return now;
  const std::vector<LearnedIteration::Order>& seen = learned_.players();
  std::unordered_map<const Run*, std::size_t> players;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].run == nullptr) continue;
    const auto [player, is_new] = players.try_emplace(seen[i].run, i);
    if (!is_new && seen[player->second].used < seen[i].used) player->second = i;
  }
  now.last_step = static_cast<std::uint32_t>(*learned_.place());
  for (const auto& [run, player] : players) {
    if (run->is_row.load() && !run->is_dead()) now.runs[player].pages = locations_of(*seen[player].run);
  }
  for (const auto& run : runs_) {
    if (run->is_dead() || run->shape.bytes() <= kBasePage) continue;
    std::vector<Locations> places = locations_of(*run);
    if (const auto player = players.find(run.get()); player != players.end()) {
      now.runs[player->second].pages = std::move(places);
    } else if (!run->is_pinned() && !players.contains(&run->whole())) {  // otherwise its room is not available
      now.others.push_back({.bytes = run->shape.bytes(), .tag = run->tag, .pages = std::move(places)});
    }
  }
  return now;
}

Bytes ResidencySnapshot::pinned_beside() const {
  std::unordered_set<const Run*> players;
  for (const LearnedIteration::Order& player : learned_.players()) players.insert(player.run);
  Bytes bytes;
  for (const auto& run : runs_) {
    const bool is_part = run->shape.bytes() > kBasePage;  // smaller ones are small runs, which machine() subtracts
    if (is_part && run->is_pinned() && !players.contains(run.get()) && !players.contains(&run->whole()))
      bytes += run->shape.bytes();
  }
  return bytes;
}

}  // namespace tessera
