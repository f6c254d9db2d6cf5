// A device frame common to all pages, mapped for a moment where a page has nothing mapped.
//
// Why: some driver calls ask what memory lies at an address without accessing it, such as the instantiation of a graph
// with copies. The page's bytes need not come to the device for that.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_ref.hpp"

namespace tessera {

class PagePlaceholders {
 public:
  explicit PagePlaceholders(const PageMachine& machine) : machine_(machine) {}
  ~PagePlaceholders() { uncover_all(); }
  PagePlaceholders(const PagePlaceholders&) = delete;
  PagePlaceholders& operator=(const PagePlaceholders&) = delete;

  // Covers those of the pages that have nothing mapped. REQUIRES: no work accesses them until they are uncovered.
  // Errors: kOutOfMemory, the driver's; pages done before it stay covered.
  Status cover(std::span<const PageRef> pages);
  // Before anything else is mapped at the page's address, and before the address is given up. Errors: the driver's.
  Status uncover(PageRef page) { return covered_.empty() ? Status() : uncover(page.address()); }
  // Returns the frame too. An address that the driver refuses to unmap stays covered, which is logged.
  void uncover_all();

 private:
  Status cover(PageRef page);
  Status uncover(Address address);

  const PageMachine& machine_;
  std::optional<FrameId> frame_;      // of kBasePage bytes; while pages are covered
  std::map<Address, Bytes> covered_;  // the pages' addresses
};

}  // namespace tessera
