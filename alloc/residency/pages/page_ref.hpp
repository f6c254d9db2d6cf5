// Names a page, the `page`-th of a run; and helpers for several of them.
//
// Thread safety: a value; the page it names belongs to the engine.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/page_class.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "residency/pages/copy_lanes.hpp"
#include "residency/pages/run.hpp"

namespace tessera {

struct PageRef {
  Run* run = nullptr;
  std::uint32_t page = 0;

  Page& operator*() const { return run->pages[page]; }
  Page* operator->() const { return &run->pages[page]; }
  Address address() const { return run->page_address(page); }
  PageClass page_class() const { return run->shape.page_class(page); }
  Bytes bytes() const { return page_bytes(page_class()); }
};

// REQUIRES: the page is near.
inline Location beside_of(const Page& page) { return page.peer ? Location::kPeer : Location::kHost; }

inline Bytes total_bytes(std::span<const PageRef> pages) {
  Bytes bytes;
  for (const PageRef& page : pages) bytes += page.bytes();
  return bytes;
}

// Of several errors the first is returned.
inline void note_error(Status& result, Status status) {
  if (result.is_ok()) result = std::move(status);
}

// Calls `visit(address, bytes, pages)` for each address-contiguous stretch of pages, also after an error; returns the
// first error.
template <class Visit>
Status for_each_stretch(std::span<const PageRef> pages, Visit visit) {
  Status result;
  for (std::size_t first = 0; first < pages.size();) {
    std::size_t end = first + 1;
    Address next = pages[first].address() + pages[first].bytes();
    while (end < pages.size() && pages[end].address() == next) next = next + pages[end++].bytes();
    note_error(result, visit(pages[first].address(), next - pages[first].address(), pages.subspan(first, end - first)));
    first = end;
  }
  return result;
}

}  // namespace tessera
