// Finds out that a program repeats itself, from the signatures of its launches alone.
//
// No marks and no hints: a signature is a hash of a launch's function and runs. Where the same context was seen
// before, the distance is a candidate for the period, and it is kept as long as the launches agree with those one
// distance earlier. So inner loops give way to the iteration around them: its candidate begins where theirs breaks,
// and what was launched before speaks for it, too.
//
// Source: chains of earlier places with the same hash, of which the longest match counts, are those of LZ77 compressors
// (DEFLATE, RFC 1951).
//
// Thread safety: none; its owner's lock.
//
// Bounds: as many signatures are remembered as it is told, and twice as many contexts; a longer period is not found. Of
// the places of a context the newest kMostLooks are looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "learn/launch_context.hpp"

namespace tessera {

class PeriodFinder {
 public:
  static constexpr std::size_t kHistory = std::size_t{1} << 18;
  static constexpr std::uint64_t kLong = 64;  // of so many launches half is no matter of chance, ...
  static constexpr std::uint64_t kFar = 8;    // ... of so many times what is followed,
  static constexpr std::uint64_t kSoon = 4;   // and where nothing is, this part, but half of kLong at least

  explicit PeriodFinder(std::size_t most = kHistory) : most_(most) {}

  // `known`: the length of the newest period that somebody follows; 0 = nobody does.
  void note(std::uint64_t signature, std::size_t known);
  // Launches will be missing from here on.
  void interrupt();
  // The last ones count as these from here on. REQUIRES: so many are remembered.
  void rewrite(std::span<const std::uint64_t> signatures);

  // The last so many launches are one iteration: what came before them was the same, or the newest part of it where nobody
  // follows a period like it yet; 0 = they are not.
  std::size_t period() const { return agreed_ >= enough() ? distance_ : 0; }
  // So many launches in a row were the same as those a period earlier.
  std::size_t agreed() const { return agreed_; }
  // So many are remembered.
  std::size_t size() const { return static_cast<std::size_t>(std::min<std::uint64_t>(count_, most_)); }
  // The launches repeat earlier ones at this moment, ...
  bool repeats() const { return distance_ != 0; }
  // ... which were so many before; 0 = they do not.
  std::size_t distance() const { return distance_; }
  // Of the last kContext launches, as soon as there are so many.
  std::optional<std::uint64_t> context() const { return context_; }
  // The signatures of the last launches. REQUIRES: there were so many, and they are remembered.
  std::vector<std::uint64_t> last(std::size_t launches) const;

 private:
  static constexpr std::size_t kMostLooks = 64;

  std::uint64_t at(std::uint64_t index) const { return history_[index % most_]; }
  std::uint64_t enough() const;
  std::optional<std::uint64_t> context_of(std::uint64_t count) const;
  void follow_candidate(std::uint64_t signature);
  std::uint64_t note_context(std::uint64_t count);
  void look_for_candidate(std::uint64_t place);
  std::uint64_t agreement(std::uint64_t distance) const;

  const std::size_t most_;
  std::vector<std::uint64_t> history_;  // a ring, as long as it was filled
  std::uint64_t count_ = 0;
  std::optional<std::uint64_t> context_;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // context -> launches noted up to its newest end
  std::vector<std::uint64_t> before_;   // likewise, up to its end before; by launches up to this one, a ring; 0 = none
  std::uint64_t distance_ = 0;          // the candidate; 0 = none
  std::uint64_t agreed_ = 0;            // launches that agreed with it in a row
  std::uint64_t known_ = 0;             // the length of the newest that somebody follows
};

}  // namespace tessera
