// What is mapped at the addresses of pages: device frames, or nothing.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <span>
#include <vector>

#include "residency/pages/mapping_meter.hpp"
#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_placeholders.hpp"
#include "residency/pages/page_ref.hpp"

namespace tessera {

class PageMappings {
 public:
  PageMappings(const PageMachine& machine, PagePlaceholders& placeholders, const PageLedger& ledger)
      : machine_(machine), placeholders_(placeholders), ledger_(ledger) {}

  // Takes a device frame for the page and maps it, still without access. Errors: kOutOfMemory, the driver's.
  Status take(PageRef page);
  // Takes a device frame that has an alias; it is not mapped at the page's address. Errors: kOutOfMemory; kNotSupported
  // where the frame gets no alias.
  Status take_apart(PageRef page);
  // Returns the frame of a page that has nothing mapped at its address.
  void give_back_apart(PageRef page);
  // Maps the frame that the page just got at its address, or returns the frame. Errors: the driver's.
  Status map_or_give_back(PageRef page);
  // Unmaps the page's frame and returns it. If the driver refuses, the frame is leaked and the address stays taken:
  // this is logged, and no byte is lost.
  void give_back(PageRef page);
  // Maps the frame that the page has at its address, or nothing; it keeps the frame.
  Status map(PageRef page);
  // Undoes map() as far as the driver allows. A page that stays mapped makes the next map() fail, and with it each use.
  void unmap_or_log(std::span<const PageRef> pages);
  // Unmaps once per contiguous stretch. Stops at the first error; `unmapped` are the pages before it.
  Status unmap(std::span<const PageRef> pages, std::vector<PageRef>& unmapped);
  // Once per contiguous stretch. REQUIRES: the pages are mapped, in address order.
  Status grant_access(std::span<const PageRef> pages);
  // Unmaps one stretch of so many pages. Errors: the driver's.
  Status unmap_stretch(Address address, Bytes bytes, std::size_t pages);
  // Maps a frame other than a device frame of the page, without access. Errors: the driver's.
  Status map_other(PageRef page, FrameId frame);
  // Unmaps with a second try: a driver may refuse once.
  Status unmap_twice(Address address, Bytes bytes);

  // Whether copies can read the pages' frames at an address other than the page's own. Logs once why not.
  bool open_aliases(std::span<const PageRef> pages);
  // The address at which copies access the page's bytes on the device.
  Address bytes_at(PageRef page) const;
  // What the driver takes for that.
  const MappingMeter& meter() const { return meter_; }

 private:
  const PageMachine& machine_;
  PagePlaceholders& placeholders_;
  const PageLedger& ledger_;
  int alias_refusals_ = 0;  // in a row
  MappingMeter meter_;
  Nanoseconds mapping_{};  // time of the mappings that have no access yet
};

}  // namespace tessera
