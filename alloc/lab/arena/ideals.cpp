#include "lab/arena/ideals.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include <fmt/core.h>
#include <xxhash.h>

namespace tessera {
namespace {

using Words = std::vector<std::uint64_t>;  // one bit per group

struct HashOfWords {
  std::size_t operator()(const Words& words) const {
    return XXH3_64bits(words.data(), words.size() * sizeof(words[0]));
  }
};

bool has(const Words& words, std::size_t group) { return (words[group / 64] >> (group % 64)) & 1; }

bool may_join(const Words& words, std::size_t group, const std::vector<std::size_t>& before) {
  return !has(words, group) && std::all_of(before.begin(), before.end(), [&](std::size_t b) { return has(words, b); });
}

}  // namespace

Result<Ideals> Ideals::of(const std::vector<std::vector<std::size_t>>& before) {
  Ideals ideals;
  // Breadth first: an ideal is reached from those with one group less, which are already numbered.
  std::unordered_map<Words, std::size_t, HashOfWords> number;
  std::vector<Words> found = {Words((before.size() + 63) / 64, 0)};
  number.emplace(found[0], 0);
  ideals.down_.resize(1);
  for (std::size_t ideal = 0; ideal < found.size(); ++ideal) {
    for (std::size_t group = 0; group < before.size(); ++group) {
      if (!may_join(found[ideal], group, before[group])) continue;
      Words larger = found[ideal];
      larger[group / 64] |= std::uint64_t{1} << (group % 64);
      const auto [entry, is_new] = number.try_emplace(std::move(larger), found.size());
      if (is_new) {
        if (found.size() == kMost) {
          return Status(Code::kNotSupported, fmt::format("the graph has more than {} two-way cuts", kMost));
        }
        found.push_back(entry->first);
        ideals.down_.emplace_back();
      }
      ideals.down_[entry->second].push_back({group, ideal});
    }
  }
  return ideals;
}

}  // namespace tessera
