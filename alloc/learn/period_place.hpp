// Where a program is in a period that it goes through again and again.
//
// The first launch that is another than the next one of the period loses the place; it is found again by its context,
// so a break (a validation step, a last smaller batch) costs kContext launches.
//
// Thread safety: none; its owner's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "learn/launch_context.hpp"

namespace tessera {

class PeriodPlace {
 public:
  // Of the period, launch number `last` has been the last one. REQUIRES: there is one.
  PeriodPlace(std::vector<std::uint64_t> signatures, std::size_t last);

  // The next launch, and what the last kContext ones were, if there were so many.
  void note(std::uint64_t signature, std::optional<std::uint64_t> context);
  void lose() { position_.reset(); }

  const std::vector<std::uint64_t>& signatures() const { return signatures_; }
  // Of the last launch, if it keeps to the period.
  std::optional<std::size_t> position() const { return position_; }

 private:
  std::vector<std::uint64_t> signatures_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  // context -> position of its last launch
  std::optional<std::size_t> position_;
};

}  // namespace tessera
