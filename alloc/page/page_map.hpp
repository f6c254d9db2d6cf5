// Maps addresses to runs: one pointer per base page of the reserved range, read without a lock.
//
// The array covers the whole range (8 bytes per 2 MiB), but the system backs only the parts that were written,
// so memory is proportional to use.
//
// Thread safety: find() from any thread at any time; set() from the page manager only, under its lock. The
// pointer that find() returns is valid only while the caller is a reader (run_readers.hpp) or holds a live
// block of the run.
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
  Address high() const { return low_ + bytes_; }
  // Assigns `pages` base pages from `first` on to `run`, or to none. REQUIRES: they are in the range.
  void set(Address first, std::uint64_t pages, Run* run);

 private:
  PageMap(Address low, Bytes bytes, Run** entries) : low_(low), bytes_(bytes), entries_(entries) {}

  std::atomic_ref<Run*> entry(std::uint64_t page) const { return std::atomic_ref<Run*>(entries_[page]); }
  Bytes array_bytes() const { return Bytes(bytes_ / kBasePage * sizeof(Run*)); }

  const Address low_;
  const Bytes bytes_;
  Run** const entries_;
};

}  // namespace tessera
