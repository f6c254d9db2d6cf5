#include "tier/first_touch.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "base/thread.hpp"

namespace tessera {
namespace {

constexpr Bytes kSmallestPage = 4_KiB;
constexpr Bytes kPieceUnit = 2_MiB;      // pieces share no huge page
constexpr Bytes kWorthAThread = 16_MiB;  // starting a thread costs as much as a few megabytes
constexpr unsigned kMostThreads = 8;

int touch_piece(std::byte* start, Bytes bytes) {
  if (::madvise(start, bytes.value(), MADV_POPULATE_WRITE) == 0) return 0;
  if (errno != EINVAL) return errno;
  // Linux before 5.14
  for (Bytes at; at < bytes; at += kSmallestPage) {
    *static_cast<volatile std::byte*>(start + at.value()) = std::byte{0};
  }
  return 0;
}

}  // namespace

unsigned touching_threads(Bytes bytes) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // More processors than the set can hold is an error, but not a reason to use fewer threads.
  const bool known = ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  const unsigned processors = known ? static_cast<unsigned>(CPU_COUNT(&allowed)) : kMostThreads;
  const auto worth = static_cast<unsigned>(std::min<std::uint64_t>(bytes / kWorthAThread, kMostThreads));
  return std::max(1u, std::min(processors, worth));
}

int touch_first(void* start, Bytes bytes, unsigned threads) {
  const Bytes piece = round_up(Bytes((bytes.value() + threads - 1) / threads), kPieceUnit);
  std::atomic<int> refused{0};
  const auto touch = [&](Bytes from) {
    const int error = touch_piece(static_cast<std::byte*>(start) + from.value(), std::min(piece, bytes - from));
    if (error != 0) refused.store(error, std::memory_order_relaxed);
  };
  std::vector<std::thread> others(threads);
  std::size_t next = 0;
  for (Bytes from = piece; from < bytes; from += piece) {
    if (!start_thread(others[next++], [&, from] { touch(from); }).is_ok()) touch(from);
  }
  if (bytes) touch(Bytes());
  for (std::thread& other : others) {
    if (other.joinable()) other.join();
  }
  return refused.load(std::memory_order_relaxed);
}

}  // namespace tessera
