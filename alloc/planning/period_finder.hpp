// Detects that a program repeats itself from the signatures of its launches alone.
//
// No marks or hints are needed: a signature is a hash of a launch's function and runs. If the same context
// occurred before, the distance to it is a candidate period, which is kept as long as launches agree with those
// one distance earlier. An inner loop therefore yields to the enclosing iteration: the iteration's candidate
// starts where the loop's breaks, and earlier launches count towards it.
//
// Source: chains of earlier positions with the same hash, of which the longest match wins, as in LZ77
// compressors (DEFLATE, RFC 1951).
//
// Thread safety: none; the owner locks.
//
// Bounds: `most` signatures are remembered, and twice as many contexts; a longer period is not found. Of the
// earlier positions of a context the newest kMostLooks are examined.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "planning/launch_context.hpp"

namespace tessera {

class PeriodFinder {
 public:
  static constexpr std::size_t kHistory = std::size_t{1} << 18;
  static constexpr std::uint64_t kLong = 64;  // half a repetition of at least this many launches is not chance, ...
  static constexpr std::uint64_t kFar = 8;    // ... if it is also this many times the period that is followed;
  static constexpr std::uint64_t kSoon = 4;   // if none is followed, this fraction suffices, but at least kLong / 2

  explicit PeriodFinder(std::size_t most = kHistory) : most_(most) {}

  // `known`: the length of the newest period that is being followed; 0 = none.
  void note(std::uint64_t signature, std::size_t known);
  // Launches will be missing from here on.
  void interrupt();
  // Replaces the latest signatures by these. REQUIRES: that many are remembered.
  void rewrite(std::span<const std::uint64_t> signatures);

  // The latest period() launches are one iteration: those before were the same, or at least the newest part of
  // them if no period of that length is followed yet. 0 = no iteration was detected.
  std::size_t period() const { return agreed_ >= enough() ? distance_ : 0; }
  // The number of consecutive launches that matched those one period earlier.
  std::size_t agreed() const { return agreed_; }
  // The number of launches remembered.
  std::size_t size() const { return static_cast<std::size_t>(std::min<std::uint64_t>(count_, most_)); }
  // Whether the launches currently repeat earlier ones, ...
  bool repeats() const { return distance_ != 0; }
  // ... and at which distance; 0 = they do not.
  std::size_t distance() const { return distance_; }
  // The context of the last kContext launches; empty until there are that many.
  std::optional<std::uint64_t> context() const { return context_; }
  // The signatures of the last launches. REQUIRES: that many are remembered.
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
  std::vector<std::uint64_t> history_;  // a ring that grows until it is full
  std::uint64_t count_ = 0;
  std::optional<std::uint64_t> context_;
  std::unordered_map<std::uint64_t, std::uint64_t>
      seen_;                           // context -> launch count at the end of its newest occurrence
  std::vector<std::uint64_t> before_;  // ring, by launch count: the previous occurrence of the same context; 0 = none
  std::uint64_t distance_ = 0;         // the candidate; 0 = none
  std::uint64_t agreed_ = 0;           // launches that agreed with it in a row
  std::uint64_t known_ = 0;            // the length of the newest period that is followed
};

}  // namespace tessera
