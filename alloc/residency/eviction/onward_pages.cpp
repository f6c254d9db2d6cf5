#include "residency/eviction/onward_pages.hpp"

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// The page may not stay in its host frame.
bool must_move_on(const Page& page) { return page.copy.staging || (page.eviction.onward && page.host); }

}  // namespace

void OnwardPages::move_on(PageRef page) {
  if (page->state != PageState::kCold) return;
  if (page.run->prefetch.requested && page.run->is_evictable()) fetch(page);
  if (page->state == PageState::kCold && must_move_on(*page)) stranded_.push_back(page);
}

// The bytes of a prefetched page are in host memory: fetches it to the device, if that needs no eviction.
void OnwardPages::fetch(PageRef page) {
  if (!page->is_near() || engine_.tiers.device.room() < page.bytes()) return;
  const Status mounted = starts_.mount({&page, 1}, TransferStarts::Mapped::kOnArrival);
  if (!mounted.is_ok()) log_line(LogLevel::kDebug, "a prefetch was abandoned: {}", mounted.to_string());
}

// Vacates staging frames: pages move into the host budget if it has room by now, else to the file. A page that a plan
// sends to the file goes there in any case, unless the file takes no more.
void OnwardPages::clear_stranded() {
  bool busy = false;  // the file has its maximum of transfers in flight
  std::erase_if(stranded_, [&](const PageRef& page) {
    if (page->state != PageState::kCold || !must_move_on(*page)) return true;
    if (page.run->is_held()) return false;  // a fetch is about to mount it
    if (!page->eviction.onward && moves_.copies.adopt(page)) return true;
    if (page->file) {
      page->eviction.onward = false;
      moves_.copies.drop_host(page);
      return true;
    }
    if (busy) return false;
    const Status sunk = starts_.spill(page);
    busy = sunk.code() == Code::kBusy;
    if (!busy) page->eviction.onward &= sunk.is_ok();
    return sunk.is_ok();
  });
}

void OnwardPages::go_onward(std::span<const PageRef> left) {
  for (const PageRef& page : left) {
    if (page->eviction.onward) move_on(page);
  }
  clear_stranded();
}

void OnwardPages::forget(const Run& run) {
  std::erase_if(stranded_, [&run](const PageRef& page) { return page.run == &run; });
}

void OnwardPages::follow_row(const Run& row) { move_to_row(row, stranded_); }

}  // namespace tessera
