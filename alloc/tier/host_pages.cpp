#include "tier/host_pages.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/available_memory.hpp"
#include "tier/first_touch.hpp"

namespace tessera {
namespace {

// Left for the rest of the machine, or of the container.
constexpr Bytes kLeftForOthers = 128_MiB;

bool is_too_much(Bytes bytes) {
  const Bytes available = available_memory();
  return available && bytes + kLeftForOthers > available;
}

class SystemHostPages final : public HostPages {
 public:
  void place(void* start, Bytes bytes, unsigned node) override {
    constexpr unsigned kBits = 8 * sizeof(unsigned long);
    std::array<unsigned long, 16> nodes{};
    if (node >= kBits * nodes.size()) return;
    nodes[node / kBits] = 1ul << (node % kBits);
    // The kernel reads one bit less than the number passed.
    [[maybe_unused]] const long wished =
        ::syscall(SYS_mbind, start, bytes.value(), MPOL_PREFERRED, nodes.data(), kBits * nodes.size() + 1, 0);
  }
  bool open(void* start, Bytes bytes) override {
    if (is_too_much(bytes)) {
      errno = ENOMEM;
      return false;
    }
    if (::mprotect(start, bytes.value(), PROT_READ | PROT_WRITE) != 0) return false;
    // A hint: without huge pages there are only more TLB misses.
    [[maybe_unused]] const int wished = ::madvise(start, bytes.value(), MADV_HUGEPAGE);
    // Fork copies pinned pages eagerly, which would be the whole host tier, and a child never uses them. Wiped rather
    // than absent in the child, so that nothing else is mapped there. Kernels before 4.14 copy.
    [[maybe_unused]] const int kept_to_us = ::madvise(start, bytes.value(), MADV_WIPEONFORK);
    const int refused = touch_first(start, bytes, touching_threads(bytes));
    if (refused == 0) return true;
    close(start, bytes);
    errno = refused;
    return false;
  }
  void close(void* start, Bytes bytes) override {
    // Both fail only for ranges that are not ours; the addresses stay reserved either way.
    [[maybe_unused]] const int emptied = ::madvise(start, bytes.value(), MADV_DONTNEED);
    [[maybe_unused]] const int closed = ::mprotect(start, bytes.value(), PROT_NONE);
  }
};

// Shared mappings are not copied on write either, so a fork cannot separate the pages that the driver has pinned from
// those that the program writes.
class SharedHostPages final : public HostPages {
 public:
  bool open(void* start, Bytes bytes) override {
    if (is_too_much(bytes)) {
      errno = ENOMEM;
      return false;
    }
    constexpr int kFlags = MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS;
    if (::mmap(start, bytes.value(), PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED) return false;
    [[maybe_unused]] const int wished = ::madvise(start, bytes.value(), MADV_HUGEPAGE);
    constexpr unsigned kThreads = 1;  // so that the memory is on the node of the thread that asks for it
    const int refused = touch_first(start, bytes, kThreads);
    if (refused == 0) return true;
    close(start, bytes);
    errno = refused;
    return false;
  }
  // Fails only for a range that is not ours; the addresses stay reserved either way.
  void close(void* start, Bytes bytes) override {
    constexpr int kFlags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    [[maybe_unused]] void* const closed = ::mmap(start, bytes.value(), PROT_NONE, kFlags, -1, 0);
  }
};

}  // namespace

HostPages& shared_host_pages() {
  static HostPages& pages = *new SharedHostPages;  // as below
  return pages;
}

HostPages& system_host_pages() {
  static HostPages& pages = *new SystemHostPages;  // never destroyed: threads use it while the process ends
  return pages;
}

}  // namespace tessera
