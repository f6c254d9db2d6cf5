#include "lab/published/patrickstar_policy.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "demand_paging.hpp"
#include "iterations.hpp"

namespace tessera {
namespace {

Snapshot at(std::uint64_t moment, std::initializer_list<std::uint64_t> nexts) {
  Snapshot snapshot{.need = 2_MiB, .epoch = Epoch(moment), .runs = {}};
  for (const std::uint64_t next : nexts) {
    snapshot.runs.push_back({.run = snapshot.runs.size(), .bytes = 2_MiB, .next = Epoch(next)});
  }
  return snapshot;
}

// The example of its unit test: chunk 0 is used at moment 0, chunk 1 at moment 1, of two in total.
TEST(PatrickstarPolicy, EvictsAlternatingChunksAfterTheirMoment) {
  EXPECT_EQ(PatrickstarPolicy().decide(at(0, {2, 1})).victims, std::vector<std::size_t>{0});
  EXPECT_EQ(PatrickstarPolicy().decide(at(1, {2, 3})).victims, std::vector<std::size_t>{1});
}

// The same from the iteration: the table of next uses wraps around.
TEST(PatrickstarPolicy, TheTableOfTheIterationGivesTheVector) {
  test::IterationBuilder build;
  const auto first = build.run(2_MiB), second = build.run(2_MiB);
  build.step(1000, {test::reads(first)});
  build.step(1000, {test::reads(second)});
  const std::vector<std::uint32_t> distances = next_use_distances(build.done());
  for (std::uint64_t moment = 0; moment < 2; ++moment) {
    const std::uint64_t other = 1 - moment;
    std::uint64_t nexts[2];
    nexts[moment] = moment + distances[moment];  // used in this moment
    nexts[other] = moment + 1;
    EXPECT_EQ(PatrickstarPolicy().decide(at(moment, {nexts[0], nexts[1]})).victims, std::vector<std::size_t>{moment});
  }
}

TEST(PatrickstarPolicy, AChunkThatIsNeverUsedIsFartherThanAll) {
  EXPECT_EQ(PatrickstarPolicy().decide(at(5, {500, 0, 900})).victims, std::vector<std::size_t>{1});
}

TEST(PatrickstarPolicy, InWarmUpTiesGoByName) {
  EXPECT_EQ(PatrickstarPolicy().decide(at(5, {0, 0, 0})).victims, std::vector<std::size_t>{0});
}

// The minimum number of misses, by trying every victim.
std::uint64_t fewest_misses(const std::vector<std::size_t>& accesses, std::size_t room) {
  std::map<std::pair<std::size_t, std::set<std::size_t>>, std::uint64_t> known;
  const std::function<std::uint64_t(std::size_t, std::set<std::size_t>)> rest =
      [&](std::size_t i, std::set<std::size_t> there) -> std::uint64_t {
    if (i == accesses.size()) return 0;
    const auto [found, is_new] = known.try_emplace({i, there}, 0);
    if (!is_new) return found->second;
    std::uint64_t least = ~std::uint64_t{0};
    if (there.count(accesses[i]) != 0) {
      least = rest(i + 1, there);
    } else if (there.size() < room) {
      std::set<std::size_t> more = there;
      more.insert(accesses[i]);
      least = 1 + rest(i + 1, more);
    } else {
      for (const std::size_t victim : there) {
        std::set<std::size_t> other = there;
        other.erase(victim);
        other.insert(accesses[i]);
        least = std::min(least, 1 + rest(i + 1, other));
      }
    }
    return known[{i, there}] = least;
  };
  return rest(0, {});
}

TEST(PatrickstarPolicy, MissesAsSeldomAsIsPossible) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::uint64_t state = seed;
    std::vector<std::size_t> accesses;
    for (int i = 0; i < 16; ++i) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      accesses.push_back((state >> 33) % 6);
    }
    EXPECT_EQ(test::page_on_demand(PatrickstarPolicy(), accesses, 3, true).misses, fewest_misses(accesses, 3)) << seed;
  }
}

}  // namespace
}  // namespace tessera
