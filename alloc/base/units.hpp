// Bytes, addresses and identifiers as types that cannot be mixed up.
//
// Below the C API a page count, a byte count and an address are all 64-bit integers, and adding one to the
// other is a common bug. Conversion is explicit, and only arithmetic that makes sense compiles. The idea is
// tcmalloc's (huge_pages.h).
//
// Thread safety: values; share them like integers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tessera {

// An amount. Amounts of one kind add, subtract, compare and scale; nothing else.
template <class Tag>
class Amount {
 public:
  constexpr Amount() = default;
  constexpr explicit Amount(std::uint64_t value) : value_(value) {}

  constexpr std::uint64_t value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != 0; }
  constexpr auto operator<=>(const Amount&) const = default;

  constexpr Amount& operator+=(Amount other) {
    value_ += other.value_;
    return *this;
  }
  // REQUIRES: other <= *this.
  constexpr Amount& operator-=(Amount other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Amount operator+(Amount a, Amount b) { return a += b; }
  friend constexpr Amount operator-(Amount a, Amount b) { return a -= b; }
  friend constexpr Amount operator*(Amount a, std::uint64_t n) { return Amount(a.value_ * n); }
  friend constexpr Amount operator*(std::uint64_t n, Amount a) { return a * n; }
  friend constexpr Amount operator/(Amount a, std::uint64_t n) { return Amount(a.value_ / n); }
  // The number of whole b in a.
  friend constexpr std::uint64_t operator/(Amount a, Amount b) { return a.value_ / b.value_; }
  friend constexpr Amount operator%(Amount a, Amount b) { return Amount(a.value_ % b.value_); }

 private:
  std::uint64_t value_ = 0;
};

using Bytes = Amount<struct BytesTag>;
using PageCount = Amount<struct PageCountTag>;
using Nanoseconds = Amount<struct NanosecondsTag>;

// The name of a thing of one kind. It compares but does not add.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint64_t value) : value_(value) {}

  constexpr std::uint64_t value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::uint64_t value_ = 0;
};

using DeviceId = Id<struct DeviceTag>;  // the driver's ordinal, from 0
using StreamId = Id<struct StreamTag>;  // the driver's stream handle; 0 is the legacy stream
using EventId = Id<struct EventTag>;    // the driver's event handle
using FrameId = Id<struct FrameTag>;    // the driver's handle of physical memory
using TagId = Id<struct TagTag>;        // a caller's label for a kind of block; 0 is "none"

// A device virtual address. Address + Bytes is an address; Address - Address is Bytes.
class Address {
 public:
  constexpr Address() = default;
  constexpr explicit Address(std::uint64_t value) : value_(value) {}

  constexpr std::uint64_t value() const { return value_; }
  constexpr explicit operator bool() const { return value_ != 0; }
  constexpr auto operator<=>(const Address&) const = default;

  friend constexpr Address operator+(Address a, Bytes n) { return Address(a.value_ + n.value()); }
  // REQUIRES: b <= a.
  friend constexpr Bytes operator-(Address a, Address b) { return Bytes(a.value_ - b.value_); }

 private:
  std::uint64_t value_ = 0;
};

constexpr Bytes operator""_B(unsigned long long n) { return Bytes(n); }
constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes(n << 10); }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes(n << 20); }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes(n << 30); }
constexpr Bytes operator""_TiB(unsigned long long n) { return Bytes(n << 40); }

// The smallest multiple of `unit` that holds `amount`. REQUIRES: unit is not zero.
constexpr Bytes round_up(Bytes amount, Bytes unit) { return (amount + unit - Bytes(1)) / unit * unit; }

}  // namespace tessera

template <class Tag>
struct std::hash<tessera::Id<Tag>> {
  std::size_t operator()(tessera::Id<Tag> id) const noexcept { return std::hash<std::uint64_t>{}(id.value()); }
};
