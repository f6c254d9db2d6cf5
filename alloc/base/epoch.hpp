// A tick of the access clock of a device: launches, and other uses of blocks that are announced, count it up.
//
// Epochs order uses and the frees, copies, fences and decisions between them. They are not numbers of launches, as
// fences close epochs too, so a distance between two is an upper bound for the launches between them.
//
// Thread safety: a value; std::atomic<Epoch> is lock-free.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>

namespace tessera {

class Epoch {
 public:
  constexpr Epoch() = default;  // never
  constexpr explicit Epoch(std::uint64_t value) : value_(value) {}
  // After all others: what waits for it waits for everything.
  static constexpr Epoch forever() { return Epoch(~std::uint64_t{0}); }

  constexpr std::uint64_t value() const { return value_; }
  // Before all others.
  constexpr bool is_never() const { return value_ == 0; }
  constexpr auto operator<=>(const Epoch&) const = default;

  constexpr Epoch& operator+=(std::uint64_t ticks) {
    value_ += ticks;
    return *this;
  }
  constexpr Epoch& operator++() { return *this += 1; }
  constexpr Epoch next() const { return Epoch(value_ + 1); }
  // REQUIRES: not never.
  constexpr Epoch previous() const { return Epoch(value_ - 1); }
  friend constexpr Epoch operator+(Epoch epoch, std::uint64_t ticks) { return Epoch(epoch.value_ + ticks); }
  // The ticks from b to a. REQUIRES: b <= a.
  friend constexpr std::uint64_t operator-(Epoch a, Epoch b) { return a.value_ - b.value_; }

 private:
  std::uint64_t value_ = 0;
};
static_assert(std::atomic<Epoch>::is_always_lock_free && sizeof(std::atomic<Epoch>) == sizeof(std::uint64_t));

}  // namespace tessera
