// The pages with a transfer in flight, and those that wait to be unmapped before theirs, both oldest first.
//
// Thread safety: none; the engine's lock. Their number is published to readers without it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "residency/pages/page_ledger.hpp"
#include "residency/pages/page_ref.hpp"

namespace tessera {

class PagesInFlight {
 public:
  explicit PagesInFlight(std::atomic<std::uint32_t>& published) : published_(published) {}

  std::span<const PageRef> moving() const { return moving_; }
  std::span<const PageRef> parting() const { return parting_; }  // kParting
  bool any() const { return !moving_.empty() || !parting_.empty(); }
  // Bytes of the host budget that become free when the current writes to the file end.
  Bytes yielding() const;

  // The page's transfer, or its parting, has begun.
  void add(PageRef page);
  void add_parting(PageRef page);
  // It has ended.
  void remove(PageRef page);
  // Of the moving pages, oldest first and while go_on(), removes those for which is_over(page). Neither may change
  // this object.
  template <class GoOn, class IsOver>
  void remove_moving_if(GoOn go_on, IsOver is_over);
  // Pages just removed whose transfer goes on after all. They are the oldest.
  void put_back(std::span<const PageRef> pages);
  // Removes the moving pages that have settled.
  void remove_settled();
  // Removes the parting pages for which is_ready(page), asked for the oldest first, and returns them.
  template <class IsReady>
  std::vector<PageRef> take_parting_if(IsReady is_ready);

  // The run is about to be removed.
  void forget(const Run& run);
  // The run has become a row: what is in flight for its pages is in flight for those of its parts.
  void follow_row(const Run& row);
  // Errors: kInternal unless these are the moving pages of the runs, as counted by the ledger.
  Status validate(const RunList& runs, const PageLedger& ledger) const;

 private:
  void publish() { published_.store(static_cast<std::uint32_t>(moving_.size() + parting_.size())); }

  std::atomic<std::uint32_t>& published_;
  std::vector<PageRef> moving_;
  std::vector<PageRef> parting_;  // not moving yet
};

template <class GoOn, class IsOver>
void PagesInFlight::remove_moving_if(GoOn go_on, IsOver is_over) {
  std::size_t kept = 0, asked = 0;
  for (; asked < moving_.size() && go_on(); ++asked) {
    if (!is_over(moving_[asked])) moving_[kept++] = moving_[asked];
  }
  moving_.erase(moving_.begin() + static_cast<std::ptrdiff_t>(kept),
                moving_.begin() + static_cast<std::ptrdiff_t>(asked));
  publish();
}

template <class IsReady>
std::vector<PageRef> PagesInFlight::take_parting_if(IsReady is_ready) {
  std::vector<PageRef> taken;
  std::size_t kept = 0;
  for (const PageRef& page : parting_) {
    if (is_ready(page)) {
      taken.push_back(page);
    } else {
      parting_[kept++] = page;
    }
  }
  parting_.resize(kept);
  publish();
  return taken;
}

}  // namespace tessera
