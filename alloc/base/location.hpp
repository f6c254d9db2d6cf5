// Where bytes are: in one of the kinds of memory that a device of the machine exchanges pages with, or nowhere.
//
// One type for all that is said of this: the tier of a frame, the place of a page, the target of an offload, the other
// end of a copy. Where only some locations are possible, the declaration says which.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

// From the nearest to the device to the farthest. kNowhere: no copy exists, as the bytes do not matter or are
// recomputed.
enum class Location : std::uint8_t { kDevice, kPeer, kHost, kFile, kNowhere };
inline constexpr std::size_t kLocations = 4;  // that hold bytes: all except kNowhere, which is the last

// The index of a location that holds bytes, below kLocations.
constexpr std::size_t index_of(Location location) { return static_cast<std::size_t>(location); }

// As reports and files have it.
constexpr const char* name_of(Location location) {
  constexpr const char* kNames[] = {"device", "peer", "host", "file", "nowhere"};
  return kNames[index_of(location)];
}

// A set of locations that hold bytes.
class Locations {
 public:
  constexpr Locations() = default;
  constexpr Locations(Location location)
      : Locations(bit(location)) {}  // NOLINT(google-explicit-constructor): a set of one

  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool has(Location location) const { return (bits_ & bit(location)) != 0; }
  constexpr bool has_any(Locations others) const { return (bits_ & others.bits_) != 0; }
  constexpr bool operator==(const Locations&) const = default;

  friend constexpr Locations operator|(Locations a, Locations b) { return Locations(a.bits_ | b.bits_); }
  constexpr Locations& operator|=(Locations others) { return *this = *this | others; }

 private:
  constexpr explicit Locations(unsigned bits) : bits_(static_cast<std::uint8_t>(bits)) {}
  static constexpr unsigned bit(Location location) {
    return location == Location::kNowhere ? 0U : 1U << static_cast<unsigned>(location);
  }

  std::uint8_t bits_ = 0;
};

constexpr Locations operator|(Location a, Location b) { return Locations(a) | Locations(b); }

}  // namespace tessera
