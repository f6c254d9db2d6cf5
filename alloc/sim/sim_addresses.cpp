#include "sim/sim_addresses.hpp"

#include <sys/mman.h>

namespace tessera {
namespace {

// The first address of real drivers when no hint is given (docs/realism.md).
constexpr std::uint64_t kFirst = 0x3'0200'0000;
// Above the addresses of any process, so that no host memory looks like device memory.
constexpr std::uint64_t kFirstNumber = (std::uint64_t{1} << 56) + kFirst;
constexpr std::uint64_t kEnd = std::uint64_t{1} << 47;  // of the addresses that a process may use

constexpr std::uint64_t aligned(std::uint64_t address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

// Maps where the kernel chooses; `wish` is a hint.
std::optional<std::uint64_t> map_nothing(std::uint64_t wish, std::uint64_t bytes, int fixed = 0) {
  void* const got = ::mmap(pointer(wish), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
  if (got == MAP_FAILED) return std::nullopt;
  return reinterpret_cast<std::uint64_t>(got);
}

// Maps exactly at that address, or not at all. Checks the result instead of using MAP_FIXED_NOREPLACE, which thread
// sanitizers treat as a hint of 0 for addresses that they reserve.
bool map_at(std::uint64_t start, std::uint64_t bytes) {
  const auto got = map_nothing(start, bytes);
  if (!got || *got == start) return got.has_value();
  ::munmap(pointer(*got), bytes);
  return false;
}

class ProcessAddresses final : public SimAddresses {
 public:
  ProcessAddresses(std::uint64_t first, bool takes_hints) : first_(first), next_(first), takes_hints_(takes_hints) {}

  std::optional<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint) override {
    if (takes_hints_ && hint != 0 && hint % alignment == 0 && map_at(hint, bytes)) return hint;
    // Upward from the last one, past the process's mappings: in doubling steps, since a sanitizer maps terabytes.
    std::uint64_t step = alignment;
    for (std::uint64_t at = aligned(next_, alignment); at < kEnd; at += step, step *= 2) {
      if (!map_at(at, bytes)) continue;
      next_ = at + bytes;
      return at;
    }
    next_ = first_;  // released ranges are found there
    return reserve_beside_host(bytes, alignment);
  }
  std::optional<std::uint64_t> reserve_beside_host(std::uint64_t bytes, std::uint64_t alignment) override {
    // One alignment more than requested, so that an aligned start is inside wherever it is placed.
    const std::uint64_t slack = bytes + alignment;
    const auto first = map_nothing(0, slack);
    if (!first) return std::nullopt;
    const std::uint64_t start = aligned(*first, alignment);
    if (start > *first) ::munmap(pointer(*first), start - *first);
    const std::uint64_t end = start + bytes;
    if (end < *first + slack) ::munmap(pointer(end), *first + slack - end);
    return start;
  }
  bool release(const SimRange& range) override {
    if (range.end() == next_ && range.start >= first_) next_ = range.start;
    return ::munmap(pointer(range.start), range.bytes) == 0;
  }
  bool close(const SimRange& range) override { return map_nothing(range.start, range.bytes, MAP_FIXED).has_value(); }
  std::span<std::byte> bytes(const SimRange& range) const override {
    return {reinterpret_cast<std::byte*>(range.start), range.bytes};
  }

 private:
  const std::uint64_t first_;
  std::uint64_t next_;
  const bool takes_hints_;
};

// There are more addresses than can ever be reserved, so none is reused, and no hint is needed.
class NumberedAddresses final : public SimAddresses {
 public:
  explicit NumberedAddresses(std::uint64_t first) : next_(first) {}

  std::optional<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t /*hint*/) override {
    const std::uint64_t start = aligned(next_, alignment);
    if (start < next_ || start + bytes < start) return std::nullopt;
    next_ = start + bytes;
    return start;
  }
  std::optional<std::uint64_t> reserve_beside_host(std::uint64_t bytes, std::uint64_t alignment) override {
    return reserve(bytes, alignment, 0);
  }
  bool release(const SimRange&) override { return true; }
  bool close(const SimRange&) override { return true; }
  std::span<std::byte> bytes(const SimRange&) const override { return {}; }

 private:
  std::uint64_t next_;
};

}  // namespace

std::unique_ptr<SimAddresses> make_addresses(const SimOptions& options) {
  const std::uint64_t asked = options.first_address.value();
  if (options.contents == SimContents::kNone) {
    return std::make_unique<NumberedAddresses>(asked != 0 ? asked : kFirstNumber);
  }
  return std::make_unique<ProcessAddresses>(asked != 0 ? asked : kFirst, options.takes_hints);
}

}  // namespace tessera
