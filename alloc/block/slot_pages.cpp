#include "block/slot_pages.hpp"

#include <unordered_map>
#include <utility>

namespace tessera {

std::size_t SlotPages::cut(const CacheKey& key, std::span<Address> out) {
  const Bytes bytes = next_bytes(key);
  if (bytes == kBasePage) return 0;
  auto slab = shared_.cut(key, bytes);
  return slab ? slots_.add(std::move(slab), out) : 0;
}

SlotPage SlotPages::new_page(const CacheKey& key) const {
  SlotPage page;
  if (next_bytes(key) < kBasePage) {
    page.shared = std::make_unique<SharedPage>(key.stream, key.tag);
  } else {
    page.slabs.push_back(std::make_unique<Slab>(key.size_class, key.stream, key.tag));
  }
  return page;
}

// Cut before other threads see the page, so that the caller is sure to get a part.
std::size_t SlotPages::add(SlotPage page, const CacheKey& key, std::span<Address> out) {
  slots_.empty_pages().add();
  if (!page.shared) return slots_.add(std::move(page.slabs.front()), out);
  auto slab = page.shared->cut(key.size_class, next_bytes(key));
  shared_.add(std::move(page.shared));
  return slots_.add(std::move(slab), out);
}

bool SlotPages::is_idle(const Run& run, bool quiet) const {
  return !quiet || streams_.passed(run.streams.load(), run.last_work());
}

std::vector<SlotPage> SlotPages::remove_empty(Bytes bytes, bool quiet) {
  std::vector<SlotPage> removed;
  const std::size_t most = bytes / kBasePage + (bytes % kBasePage ? 1 : 0);
  for (auto& slab : slots_.remove_empty(most, [&](const Run& run) { return is_idle(run, quiet); })) {
    removed.emplace_back().slabs.push_back(std::move(slab));
  }
  std::size_t chosen = 0;
  for (auto& shared : shared_.remove_if([&](const SharedPage& page) {
         return removed.size() + chosen < most && page.is_unused() && is_idle(*page.run, quiet) && ++chosen > 0;
       })) {
    SlotPage page{std::move(shared), {}};
    if (detach_slabs(page)) {
      slots_.empty_pages().remove();
      removed.push_back(std::move(page));
    } else {
      attach(std::move(page));
    }
  }
  return removed;
}

// Detaches all slabs. Returns false if a slot was taken meanwhile or a part is just being added to the cache;
// no more parts are cut then.
bool SlotPages::detach_slabs(SlotPage& page) {
  for (Slab* const slab : page.shared->slabs()) {
    auto detached = slots_.remove_if_empty(*slab);
    if (!detached) return false;
    page.slabs.push_back(std::move(detached));
  }
  return true;
}

void SlotPages::put_back(SlotPage page) {
  slots_.empty_pages().add();
  attach(std::move(page));
}

// Attaches those slabs of a shared page that were detached.
void SlotPages::attach(SlotPage page) {
  if (page.shared) shared_.add(std::move(page.shared));
  for (auto& slab : page.slabs) slots_.add(std::move(slab), {});
}

std::vector<SlotPage> SlotPages::remove_all() {
  std::vector<SlotPage> removed;
  std::unordered_map<const SharedPage*, std::size_t> places;  // in `removed`
  for (auto& shared : shared_.remove_if([](const SharedPage&) { return true; })) {
    places.emplace(shared.get(), removed.size());
    removed.push_back({std::move(shared), {}});
  }
  for (auto& slab : slots_.remove_all()) {
    SlotPage& page = slab->page() == nullptr ? removed.emplace_back() : removed[places.at(slab->page())];
    page.slabs.push_back(std::move(slab));
  }
  slots_.empty_pages().clear();
  return removed;
}

std::uint64_t SlotPages::pages() const {
  std::uint64_t pages = 0;
  slots_.for_each([&](const Slab& slab) { pages += slab.page() == nullptr ? 1 : 0; });
  shared_.for_each([&](const SharedPage&) { ++pages; });
  return pages;
}

Status SlotPages::validate() const {
  std::int64_t empty = 0;
  slots_.for_each([&](const Slab& slab) { empty += slab.page() == nullptr && slab.is_empty() ? 1 : 0; });
  shared_.for_each([&](const SharedPage& page) { empty += page.is_unused() ? 1 : 0; });
  if (empty != slots_.empty_pages().count()) return Status(Code::kInternal, "empty pages do not add up");
  return Status::ok();
}

}  // namespace tessera
