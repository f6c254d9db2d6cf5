#include "base/thread_number.hpp"

#include <atomic>
#include <bit>

namespace tessera {
namespace {

// One bit per number that a living thread holds; the shared one is never free. A thread that takes a number over sees
// all writes of its previous holder.
static_assert(kThreadSlots == 64 && kSharedThreadNumber == 0);
constinit std::atomic<std::uint64_t> numbers_held{1};
constexpr std::uint64_t kAllHeld = ~std::uint64_t{0};

// Not raise_to(), which begins with a relaxed load: that another thread has raised it counts as much.
void count_as_used(std::uint32_t number) {
  std::uint32_t used = detail::thread_slots_used.load();
  while (used <= number && !detail::thread_slots_used.compare_exchange_weak(used, number + 1)) {
  }
}

std::uint32_t claim_number() {
  std::uint64_t held = numbers_held.load(std::memory_order_relaxed);
  while (held != kAllHeld) {
    const std::uint64_t lowest = ~held & (held + 1);
    if (numbers_held.compare_exchange_weak(held, held | lowest, std::memory_order_acquire, std::memory_order_relaxed)) {
      const auto number = static_cast<std::uint32_t>(std::countr_zero(lowest));
      count_as_used(number);
      return number;
    }
  }
  return kSharedThreadNumber;
}

// Whatever the thread does after its destructor runs goes to the shared slot.
struct LeavesNumber {
  ~LeavesNumber() {
    const std::uint32_t number = detail::thread_number_plus_one - 1;
    detail::thread_number_plus_one = kSharedThreadNumber + 1;
    if (number != kSharedThreadNumber) {
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
