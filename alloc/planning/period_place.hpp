// Tracks a program's position in a period that it repeats.
//
// The first launch that deviates from the period loses the position. It is found again by its context, so a
// break (a validation step, a smaller last batch) costs kContext launches. Launches of an inner loop all have the same
// context; which of its rounds it is, the caller can tell by the memory that they use.
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planning/launch_context.hpp"

namespace tessera {

class PeriodPlace {
 public:
  // Launch number `last` of the period was the latest one. REQUIRES: `signatures` is not empty.
  PeriodPlace(std::vector<std::uint64_t> signatures, std::size_t last);

  // Notes the next launch, and the context of the last kContext launches if there were that many.
  void note(std::uint64_t signature, std::optional<std::uint64_t> context);
  void lose() { position_.reset(); }
  // The next launch is so many places further on. REQUIRES: a position.
  void move_on(std::size_t places) { position_ = (*position_ + places) % signatures_.size(); }
  // Moves to the latest place with the context of this one for which `is_right(place)` holds; stays where there is none
  // among the kMostLooks latest. REQUIRES: a position.
  template <class IsRight>
  void move_to_like(IsRight is_right);
  // The position is the latest place with this context for which `is_right(place)` holds; none among the kMostLooks
  // latest: it is lost.
  template <class IsRight>
  void find(std::optional<std::uint64_t> context, IsRight is_right);

  const std::vector<std::uint64_t>& signatures() const { return signatures_; }
  // The position of the latest launch, if it follows the period.
  std::optional<std::size_t> position() const { return position_; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr std::size_t kMostLooks = 256;

  template <class IsRight>
  std::optional<std::size_t> right_from(std::size_t place, IsRight is_right) const;

  std::vector<std::uint64_t> signatures_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  // context -> position of its last launch, the last of these
  std::vector<std::size_t> alike_;                         // by position: the one before with this context, or kNone
  std::vector<std::size_t> latest_;                        // by position: the last one with this context
  std::optional<std::size_t> position_;
};

// Of this place and those with its context before it.
template <class IsRight>
std::optional<std::size_t> PeriodPlace::right_from(std::size_t place, IsRight is_right) const {
  for (std::size_t looks = 0; looks < kMostLooks && place != kNone; ++looks) {
    if (is_right(place)) return place;
    place = alike_[place];
  }
  return std::nullopt;
}

template <class IsRight>
void PeriodPlace::move_to_like(IsRight is_right) {
  if (const auto place = right_from(latest_[*position_], is_right)) position_ = place;
}

template <class IsRight>
void PeriodPlace::find(std::optional<std::uint64_t> context, IsRight is_right) {
  position_.reset();
  if (!context) return;
  if (const auto latest = places_.find(*context); latest != places_.end()) {
    position_ = right_from(latest->second, is_right);
  }
}

}  // namespace tessera
