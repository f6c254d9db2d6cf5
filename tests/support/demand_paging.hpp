// The reactive part of a policy on a sequence of accesses: counts misses and bytes, without an engine.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/decayed_count.hpp"
#include "policy/policy.hpp"

namespace tessera::test {

struct Paging {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t most_moves = 0;  // runs evicted for one access
};

// Runs of equal size, of which `room` fit. `known`: the policy knows each run's next use.
inline Paging page_on_demand(const Policy& policy, const std::vector<std::size_t>& accesses, std::size_t room,
                             bool known = false) {
  std::map<std::size_t, RunPicture> there, past;
  std::vector<std::uint64_t> next(accesses.size());
  std::map<std::size_t, std::uint64_t> seen;
  for (std::size_t i = accesses.size(); i-- > 0;) {
    const auto found = seen.find(accesses[i]);
    next[i] = found == seen.end() ? 0 : found->second;
    seen[accesses[i]] = i + 1;
  }
  Paging paging;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const Epoch now(i + 1);
    const std::size_t run = accesses[i];
    RunPicture& picture = past[run];
    if (there.count(run) != 0) {
      ++paging.hits;
    } else {
      ++paging.misses;
      std::uint64_t moves = 0;
      while (there.size() >= room) {
        Snapshot snapshot;
        snapshot.epoch = now;
        snapshot.need = 2_MiB;
        for (const auto& [name, unused] : there) {
          snapshot.runs.push_back(past[name]);
          snapshot.runs.back().often = decayed(past[name].often, past[name].used.value(), now.value());
        }
        there.erase(policy.decide(snapshot).victims.at(0));
        ++moves;
      }
      paging.most_moves = std::max(paging.most_moves, moves);
    }
    picture.run = run;
    picture.bytes = 2_MiB;
    picture.gap = picture.used.is_never() ? 0 : now - picture.used;
    picture.often = decayed(picture.often, picture.used.value(), now.value()) + kOneEvent;
    picture.used = now;
    picture.next = Epoch(known ? next[i] : 0);
    there[run] = picture;
  }
  return paging;
}

}  // namespace tessera::test
