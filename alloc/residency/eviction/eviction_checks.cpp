#include "residency/eviction/eviction_checks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.hpp"
#include "residency/engine.hpp"

namespace tessera {

Bytes EvictionChecks::begin(std::vector<PageRef>& pages, std::uint64_t mask, Epoch used, Location to) {
  for (const PageRef& page : pages) page->eviction.asked = used;
  Bytes total;
  std::size_t done = 0;
  for (std::size_t count = 1; done < pages.size() && count > 0; done += count) {
    const auto rest = std::span(pages).subspan(done);
    for (const PageRef& page : rest) {
      page->eviction.users = mask;
      page->eviction.to = to;
    }
    count = moves_.checks.begin(rest);
    for (const PageRef& page : rest.first(count)) in_flight_.add(page);
    total += total_bytes(rest.first(count));
  }
  pages.erase(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(done));
  return total;
}

void EvictionChecks::begin_apart(std::span<const PageRef> pages) {
  for (std::size_t count = 1; !pages.empty() && count > 0; pages = pages.subspan(count)) {
    count = moves_.checks.begin(pages);
    for (const PageRef& page : pages.first(count)) in_flight_.add(page);
  }
  copy_changed({pages.begin(), pages.end()});
}

// Maps those of them that are apart again.
void EvictionChecks::keep(std::span<const PageRef> pages) {
  std::vector<PageRef> apart;
  std::ranges::copy_if(pages, std::back_inserter(apart), [](const PageRef& page) { return is_apart(page->state); });
  note_given_up(moves_.partings.bring_back(apart));
}

// No use was queued for them since the check, so the outbound streams already wait for all their users. A page that was
// used stays, as a forwarded one does; so does one without a host frame. A page that is apart is mapped again for that.
void EvictionChecks::copy_changed(std::vector<PageRef> pages) {
  std::erase_if(pages, [](const PageRef& page) {
    const Run& run = *page.run;
    if (page->state == PageState::kApart) return false;
    return page->state != PageState::kResident || !run.is_evictable() || run.is_dead() ||
           run.last_work() != page->eviction.asked;
  });
  for (std::span<const PageRef> rest = pages; !rest.empty();) {
    const Location to = rest.front()->eviction.to;
    const auto elsewhere = std::ranges::find_if(rest, [to](const PageRef& page) { return page->eviction.to != to; });
    const auto batch = rest.first(moves_.links.batch_of({rest.begin(), elsewhere}));
    for (const PageRef& page : batch) {
      page->copy.epoch = page->eviction.asked;
      page->fingerprint.wanted = false;  // by its history at least one more copy goes unchecked
    }
    if (to == Location::kHost) starts_.spare_host_room(total_bytes(batch));
    const Result<std::size_t> begun = starts_.copy_out(batch, to);
    if (!begun.is_ok() && to == Location::kPeer) {
      for (const PageRef& page : batch) page->eviction.to = Location::kHost;
      continue;
    }
    if (!begun.is_ok()) {
      log_line(LogLevel::kDebug, "a changed page was not evicted: {}", begun.status().to_string());
      return keep(rest);
    }
    rest = rest.subspan(begun.value());
  }
}

}  // namespace tessera
