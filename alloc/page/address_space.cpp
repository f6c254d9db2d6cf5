#include "page/address_space.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/size_text.hpp"

namespace tessera {
namespace {

// At and above this, the upper half of an address is 4096 or more, which exceeds most counts in programs.
constexpr Address kHigh{std::uint64_t{1} << 44};

// The requested positions of the range. The device shares the 2^47 addresses of the process, so these avoid
// what Linux places there: programs (0x55.. to 0x65..), mappings (0x70.. to 0x7f.., or from 0x2aaa.. on if the
// stack is unlimited), and the shadows and heaps of the sanitizers (below 0x1001.., 0x3000.., 0x50.., 0x60.. to
// 0x64..). The last one is for the thread sanitizer, which leaves a program no other high range.
constexpr std::array<std::uint64_t, 4> kHints = {0x6e55'0200'0000, 0x4655'0200'0000, 0x1155'0200'0000,
                                                 0x7e80'0200'0000};
constexpr std::uint64_t kTries = 4;  // per hint, at consecutive positions: other devices have heaps too

constexpr std::uint64_t kWindowsOfEdges = (std::uint64_t{1} << 32) / kLargePage.value();

}  // namespace

Result<std::unique_ptr<AddressSpace>> AddressSpace::reserve(Driver& driver, Bytes wanted, Bytes least) {
  least = std::max(round_up(least, kLargePage), kLargePage);
  Status refused(Code::kOutOfMemory, "no addresses were requested");
  for (Bytes size = std::max(wanted, least); size >= least; size = size / 2) {
    const std::uint64_t windows = size / kLargePage;
    auto reserved = reserve_high(driver, kLargePage * windows);
    if (reserved.is_ok()) {
      if (size < wanted) {
        log_line(
            LogLevel::kWarning,
            "only {} of addresses instead of {} could be reserved (ulimit -v, or the driver): a heap with many block "
            "sizes may run out of addresses",
            rounded_size(size), rounded_size(wanted));
      }
      return std::unique_ptr<AddressSpace>(new AddressSpace(driver, reserved.value(), windows));
    }
    refused = reserved.status();
  }
  return Status(Code::kOutOfMemory,
                fmt::format("the driver cannot reserve {} bytes of addresses: {}", least.value(), refused.to_string()),
                refused.native_code());
}

// A driver may refuse a hint or answer with a low range; both lead to the next attempt.
Result<AddressSpace::Reservation> AddressSpace::reserve_high(Driver& driver, Bytes bytes) {
  for (const std::uint64_t hint : kHints) {
    for (std::uint64_t i = 0; i < kTries; ++i) {
      const auto got = reserve_aligned(driver, bytes, Address(hint) + bytes * i);
      if (!got.is_ok()) break;
      if (got.value().start >= kHigh) return got;
      TESSERA_TRY(driver.release(got.value().start, got.value().bytes));
    }
  }
  return reserve_aligned(driver, bytes, Address());
}

// Some drivers ignore the alignment. Then one more window is reserved and the aligned windows are cut out.
Result<AddressSpace::Reservation> AddressSpace::reserve_aligned(Driver& driver, Bytes bytes, Address hint) {
  TESSERA_TRY_ASSIGN(const Address got, driver.reserve(bytes, kLargePage, hint));
  if (got.value() % kLargePage.value() == 0) return Reservation{got, bytes};
  TESSERA_TRY(driver.release(got, bytes));
  const Bytes more = bytes + kLargePage;
  TESSERA_TRY_ASSIGN(const Address start, driver.reserve(more, kLargePage, hint));
  return Reservation{start, more};
}

AddressSpace::AddressSpace(Driver& driver, Reservation reserved, std::uint64_t windows)
    : driver_(driver),
      reserved_(reserved),
      low_(Address(round_up(Bytes(reserved.start.value()), kLargePage).value())),
      windows_(windows) {
  give(0, windows);
}

AddressSpace::~AddressSpace() {
  const Status released = driver_.release(reserved_.start, reserved_.bytes);
  if (!released.is_ok()) {
    log_line(LogLevel::kWarning, "addresses could not be released: {}", released.to_string());
  }
}

bool AddressSpace::is_edge(std::uint64_t window) const {
  const std::uint64_t place = (low_.value() / kLargePage.value() + window) % kWindowsOfEdges;
  return place == 0 || place == kWindowsOfEdges - 1;
}

template <class Act>
void AddressSpace::for_each_clear(std::uint64_t first, std::uint64_t count, Act act) const {
  const std::uint64_t end = first + count;
  while (first < end) {
    if (is_edge(first)) {
      ++first;
      continue;
    }
    const std::uint64_t place = (low_.value() / kLargePage.value() + first) % kWindowsOfEdges;
    const std::uint64_t clear = std::min(end - first, kWindowsOfEdges - 1 - place);
    act(first, clear);
    first += clear;
  }
}

std::optional<std::uint64_t> AddressSpace::take(std::uint64_t count) {
  if (const auto first = clear_.take(count)) {
    free_.take_exactly(*first, count);
    return first;
  }
  const auto first = free_.take(count);
  if (!first) return std::nullopt;
  for_each_clear(*first, count, [this](std::uint64_t from, std::uint64_t clear) { clear_.take_exactly(from, clear); });
  return first;
}

void AddressSpace::give(std::uint64_t first, std::uint64_t count) {
  free_.give(first, count);
  for_each_clear(first, count, [this](std::uint64_t from, std::uint64_t clear) { clear_.give(from, clear); });
}

Status AddressSpace::validate() const {
  TESSERA_TRY(free_.validate());
  TESSERA_TRY(clear_.validate());
  if (free_.free_count() > windows_ || free_.extent_at(windows_)) {
    return Status(Code::kInternal,
                  fmt::format("{} of {} windows free, or one beyond the end", free_.free_count(), windows_));
  }
  std::uint64_t clear = 0;
  Status apart;
  for (auto free = free_.next_extent(0); free; free = free_.next_extent(free->start + free->count)) {
    for_each_clear(free->start, free->count, [&](std::uint64_t from, std::uint64_t count) {
      clear += count;
      const auto known = clear_.extent_at(from);
      if (known && known->start == from && known->count == count) return;
      apart = Status(Code::kInternal, fmt::format("the free windows from {} on are not clear", from));
    });
  }
  if (apart.is_ok() && clear != clear_.free_count()) {
    return Status(Code::kInternal,
                  fmt::format("{} windows are clear, but {} of the free ones", clear_.free_count(), clear));
  }
  return apart;
}

}  // namespace tessera
