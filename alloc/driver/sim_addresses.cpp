#include "driver/sim_addresses.hpp"

#include <sys/mman.h>

namespace tessera {
namespace {

// Far from where programs and libraries lie, so that an integer which happens to look like a device
// address is rare, as it is on a GPU.
constexpr std::uint64_t kFirst = 0x6e55'0000'0000;

constexpr std::uint64_t aligned(std::uint64_t address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

void* map_nothing(std::uint64_t hint, std::uint64_t bytes, int fixed) {
  return ::mmap(pointer(hint), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

class ProcessAddresses final : public SimAddresses {
 public:
  std::optional<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment) override {
    // One alignment more than asked, so that an aligned start is inside wherever it is put.
    const std::uint64_t slack = bytes + alignment;
    void* const got = map_nothing(next_hint_, slack, 0);
    if (got == MAP_FAILED) return std::nullopt;
    const auto first = reinterpret_cast<std::uint64_t>(got);
    const std::uint64_t start = aligned(first, alignment);
    if (start > first) ::munmap(got, start - first);
    const std::uint64_t end = start + bytes;
    if (end < first + slack) ::munmap(pointer(end), first + slack - end);
    if (first == next_hint_) next_hint_ = end;
    return start;
  }
  bool release(const SimRange& range) override {
    return ::munmap(pointer(range.start), range.bytes) == 0;
  }
  bool close(const SimRange& range) override {
    return map_nothing(range.start, range.bytes, MAP_FIXED) != MAP_FAILED;
  }
  std::span<std::byte> bytes(const SimRange& range) const override {
    return {reinterpret_cast<std::byte*>(range.start), range.bytes};
  }

 private:
  std::uint64_t next_hint_ = kFirst;
};

// There are more than anybody can reserve, so none is given twice.
class NumberedAddresses final : public SimAddresses {
 public:
  std::optional<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment) override {
    const std::uint64_t start = aligned(next_, alignment);
    if (start < next_ || start + bytes < start) return std::nullopt;
    next_ = start + bytes;
    return start;
  }
  bool release(const SimRange&) override { return true; }
  bool close(const SimRange&) override { return true; }
  std::span<std::byte> bytes(const SimRange&) const override { return {}; }

 private:
  // Above the addresses of any process, so that no host memory looks like a device's.
  std::uint64_t next_ = std::uint64_t{1} << 56;
};

}  // namespace

std::unique_ptr<SimAddresses> make_addresses(SimContents contents) {
  if (contents == SimContents::kNone) return std::make_unique<NumberedAddresses>();
  return std::make_unique<ProcessAddresses>();
}

}  // namespace tessera
