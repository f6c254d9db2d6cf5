#include "residency/eviction/pages_in_flight.hpp"

#include <array>

#include "residency/pages/row.hpp"

namespace tessera {

void PagesInFlight::add(PageRef page) {
  moving_.push_back(page);
  publish();
}

void PagesInFlight::add_parting(PageRef page) {
  parting_.push_back(page);
  publish();
}

void PagesInFlight::remove(PageRef page) {
  const auto is_it = [&](const PageRef& other) { return other.run == page.run && other.page == page.page; };
  std::erase_if(moving_, is_it);
  std::erase_if(parting_, is_it);
  publish();
}

void PagesInFlight::put_back(std::span<const PageRef> pages) {
  moving_.insert(moving_.begin(), pages.begin(), pages.end());
  publish();
}

void PagesInFlight::remove_settled() {
  std::erase_if(moving_, [](const PageRef& page) { return !is_moving(page->state); });
  publish();
}

void PagesInFlight::forget(const Run& run) {
  const auto of_run = [&run](const PageRef& page) { return page.run == &run; };
  std::erase_if(moving_, of_run);
  std::erase_if(parting_, of_run);
  publish();
}

void PagesInFlight::follow_row(const Run& row) {
  move_to_row(row, moving_);
  move_to_row(row, parting_);
}

Bytes PagesInFlight::yielding() const {
  Bytes bytes;
  for (const PageRef& page : moving_) {
    if (page->state == PageState::kSpilling && !page->copy.staging) bytes += page.bytes();
  }
  return bytes;
}

Status PagesInFlight::validate(const RunList& runs, const PageLedger& ledger) const {
  Bytes moving_bytes, listed_bytes;
  std::array<Bytes, kPageStates> listed{};
  for (const auto& run : runs) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      if (is_moving(run->pages[i].state)) moving_bytes += page_bytes(run->shape.page_class(i));
    }
  }
  for (const auto* list : {&moving_, &parting_}) {
    for (const PageRef& page : *list) {
      const bool parts = page->state == PageState::kParting;
      if (!is_moving(page->state) || parts != (list == &parting_)) {
        return Status(Code::kInternal, "a listed page is not moving, or not parting");
      }
      listed_bytes += page.bytes();
      listed[static_cast<std::size_t>(page->state)] += page.bytes();
    }
  }
  if (moving_bytes != listed_bytes) {
    return Status(Code::kInternal, "a moving page is not listed, or listed twice");
  }
  for (std::size_t i = 0; i < kPageStates; ++i) {
    if (listed[i] == ledger.moving(static_cast<PageState>(i))) continue;
    return Status(Code::kInternal, "the moving bytes do not add up");
  }
  return {};
}

}  // namespace tessera
