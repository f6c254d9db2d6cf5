#include "base/thread_number.hpp"

#include <atomic>
#include <bit>

namespace tessera {
namespace {

// One bit per own number that a living thread holds. A thread that takes a number over sees all writes of its
// previous holder.
constinit std::atomic<std::uint64_t> numbers_held{0};
constexpr std::uint64_t kAllHeld = (std::uint64_t{1} << kOwnThreadNumbers) - 1;

std::uint32_t claim_number() {
  std::uint64_t held = numbers_held.load(std::memory_order_relaxed);
  while (held != kAllHeld) {
    const std::uint64_t lowest = ~held & (held + 1);
    if (numbers_held.compare_exchange_weak(held, held | lowest, std::memory_order_acquire, std::memory_order_relaxed)) {
      return static_cast<std::uint32_t>(std::countr_zero(lowest));
    }
  }
  return kOwnThreadNumbers;
}

// Whatever the thread does after its destructor runs goes to the shared slot.
struct LeavesNumber {
  ~LeavesNumber() {
    const std::uint32_t number = detail::thread_number_plus_one - 1;
    detail::thread_number_plus_one = kOwnThreadNumbers + 1;
    if (number < kOwnThreadNumbers) {
      numbers_held.fetch_and(~(std::uint64_t{1} << number), std::memory_order_release);
    }
  }
};

}  // namespace

std::uint32_t detail::take_thread_number() {
  static thread_local LeavesNumber at_thread_end;
  (void)at_thread_end;
  const std::uint32_t number = claim_number();
  thread_number_plus_one = number + 1;
  return number;
}

}  // namespace tessera
