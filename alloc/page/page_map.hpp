// Maps addresses to runs: one pointer per base page of the reserved range, read without a lock.
//
// The array covers the whole range (8 bytes per 2 MiB), but the system backs only the parts that were written,
// so memory is proportional to use. A second one has the ranges of runs that a program has mapped side by side, by
// window: an address there means the range, also where nothing is mapped at it.
//
// Thread safety: find() and range_at() from any thread at any time; the others from the page manager only, under its
// lock. The pointers are valid only while the caller is a reader (run_readers.hpp) or holds a live block of the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/page_class.hpp"
#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct Run;

class PageMap {
 public:
  // For the range [low, low + bytes). REQUIRES: bytes is a multiple of a base page. Errors: kOutOfMemory if the
  // process has no addresses left for the array.
  static Result<std::unique_ptr<PageMap>> create(Address low, Bytes bytes);
  ~PageMap();
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  // The run that contains this address; null if there is none or the address is outside the range.
  Run* find(Address address) const {
    const std::uint64_t offset = address.value() - low_.value();
    if (offset >= bytes_.value()) return nullptr;
    return entry(offset / kBasePage.value()).load();
  }
  // The range of the reservation that contains this address; null if there is none.
  Run* range_at(Address address) const {
    const std::uint64_t offset = address.value() - low_.value();
    return offset < bytes_.value() ? window(offset / kLargePage.value()).load() : nullptr;
  }
  Address high() const { return low_ + bytes_; }
  // Assigns `pages` base pages from `first` on to `run`, or to none. REQUIRES: they are in the range.
  void set(Address first, std::uint64_t pages, Run* run);
  // The same for windows, and a range.
  void set_range(Address first, std::uint64_t windows, Run* range);

 private:
  PageMap(Address low, Bytes bytes, Run** entries) : low_(low), bytes_(bytes), entries_(entries) {}

  static std::uint64_t windows_of(Bytes bytes) { return (bytes + kLargePage - Bytes(1)) / kLargePage; }
  static std::size_t array_bytes(Bytes bytes) { return (bytes / kBasePage + windows_of(bytes)) * sizeof(Run*); }
  std::atomic_ref<Run*> entry(std::uint64_t page) const { return std::atomic_ref<Run*>(entries_[page]); }
  // Behind those of the pages.
  std::atomic_ref<Run*> window(std::uint64_t window) const { return entry(bytes_ / kBasePage + window); }

  const Address low_;
  const Bytes bytes_;
  Run** const entries_;
};

}  // namespace tessera
