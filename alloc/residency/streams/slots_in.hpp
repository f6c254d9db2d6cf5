// Iterates over the slots of a mask: for (std::size_t slot : SlotsIn{mask}).
//
// Thread safety: values.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera {

// A bit for each in one word.
inline constexpr std::uint32_t kStreamSlots = 64;

struct SlotsIn {
  struct End {};
  struct Iterator {
    std::uint64_t rest;
    std::size_t operator*() const { return static_cast<std::size_t>(std::countr_zero(rest)); }
    Iterator& operator++() {
      rest &= rest - 1;
      return *this;
    }
    bool operator!=(End) const { return rest != 0; }
  };
  std::uint64_t mask;
  Iterator begin() const { return {mask}; }
  End end() const { return {}; }
};

}  // namespace tessera
