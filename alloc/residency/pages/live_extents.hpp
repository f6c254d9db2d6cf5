// Extents that are added and removed one by one, of all blocks of a heap (extents.hpp has those that are set at once).
//
// An allocator of the program's cuts objects from its blocks all the time, at the pace of launches. So a change takes
// no lock that a launch takes, and a look-up takes none. What has to be known of an extent is which pages it reaches:
// one inside a base page means that page, as any address there does. Of an end between two base pages at most one
// extent goes across, so a page has room for one that comes in and one that goes out, and a look-up reads at most two
// pages.
//
// The array covers the whole heap (32 bytes per base page), but the system backs only the parts that were written.
//
// Thread safety: any thread. at() is exact for an address in an extent that is not changed meanwhile. For another
// address it may return an extent that has just ended.
//
// Invariants: extents do not overlap.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/mutex.hpp"
#include "base/page_class.hpp"
#include "base/status.hpp"
#include "residency/pages/extents.hpp"

namespace tessera {

class LiveExtents {
 public:
  // For the heap [low, low + bytes). REQUIRES: `low` and `bytes` are multiples of a base page. Errors: kOutOfMemory if
  // the process has no addresses left for the array.
  static Result<std::unique_ptr<LiveExtents>> create(Address low, Bytes bytes);
  ~LiveExtents();
  LiveExtents(const LiveExtents&) = delete;
  LiveExtents& operator=(const LiveExtents&) = delete;

  // False if it overlaps another one or is not inside the heap: nothing has changed then.
  bool add(Address address, Bytes bytes);
  // Ends the one that begins there, if there is one.
  void remove(Address address);
  // Ends all that reach into these addresses.
  void clear(Address address, Bytes bytes);

  // The extent that contains the address and reaches beyond its page, as far as it is above `base`, and counted from
  // it.
  std::optional<Extent> at(Address address, Address base) const;

 private:
  struct alignas(32) Page {
    std::uint64_t leaving;  // where the extent begins that goes on into the next page; 0: there is none
    std::uint64_t end;      // ... and where it ends
    std::uint64_t coming;   // where the extent begins that comes from the page before; 0: there is none
  };
  LiveExtents(Address low, std::span<Page> pages) : low_(low), pages_(pages) {}

  static std::atomic_ref<std::uint64_t> word(std::uint64_t& of) { return std::atomic_ref<std::uint64_t>(of); }
  Page& page_of(std::uint64_t address) const { return pages_[(address - low_.value()) / kBasePage.value()]; }
  bool holds(std::uint64_t begin, std::uint64_t end) const;
  // Calls each(begin) for the extents in the page that overlap [begin, end): two at most.
  template <class Each>
  void visit(const Page& page, std::uint64_t begin, std::uint64_t end, Each each) const REQUIRES_LOCK(lock_);
  void end_at(std::uint64_t begin) REQUIRES_LOCK(lock_);

  const Address low_;
  const std::span<Page> pages_;
  Mutex lock_{LockRank::kExtents};  // of writers
};

}  // namespace tessera
