#include "residency/pages/live_extents.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "base/check.hpp"

namespace tessera {

Result<std::unique_ptr<LiveExtents>> LiveExtents::create(Address low, Bytes bytes) {
  DCHECK_EQ(low.value() % kBasePage.value(), 0u);
  DCHECK_EQ((bytes % kBasePage).value(), 0u);
  const std::size_t count = bytes / kBasePage, size = count * sizeof(Page);
  void* const array = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (array == MAP_FAILED) {
    return Status(Code::kOutOfMemory,
                  fmt::format("no memory for extents, in {} bytes: {}", size, std::strerror(errno)));
  }
  return std::unique_ptr<LiveExtents>(new LiveExtents(low, {static_cast<Page*>(array), count}));
}

LiveExtents::~LiveExtents() { ::munmap(pages_.data(), pages_.size_bytes()); }

bool LiveExtents::holds(std::uint64_t begin, std::uint64_t end) const {
  return begin >= low_.value() && end > begin && end - low_.value() <= pages_.size() * kBasePage.value();
}

// A reader that finds `coming` finds the end too.
bool LiveExtents::add(Address address, Bytes bytes) {
  const std::uint64_t begin = address.value(), end = begin + bytes.value();
  if (!holds(begin, end)) return false;
  Page *const first = &page_of(begin), *const last = &page_of(end - 1);
  const MutexLock lock(lock_);
  if (first->leaving == begin && first->end == end) return true;
  bool is_free = true;
  for (const Page* page = first; page <= last; ++page) {
    visit(*page, begin, end, [&is_free](std::uint64_t) { is_free = false; });
  }
  if (!is_free || first == last) return is_free;
  word(first->end).store(end, std::memory_order_release);
  word(first->leaving).store(begin, std::memory_order_release);
  for (Page* page = first + 1; page <= last; ++page) word(page->coming).store(begin, std::memory_order_release);
  return true;
}

void LiveExtents::remove(Address address) {
  const std::uint64_t begin = address.value();
  if (!holds(begin, begin + 1)) return;
  const MutexLock lock(lock_);
  if (page_of(begin).leaving == begin) end_at(begin);
}

void LiveExtents::clear(Address address, Bytes bytes) {
  const std::uint64_t begin = address.value(), end = begin + bytes.value();
  if (!holds(begin, end)) return;
  const MutexLock lock(lock_);
  for (const Page* page = &page_of(begin); page <= &page_of(end - 1); ++page) {
    visit(*page, begin, end, [this](std::uint64_t extent) REQUIRES_LOCK(lock_) { end_at(extent); });
  }
}

template <class Each>
void LiveExtents::visit(const Page& page, std::uint64_t begin, std::uint64_t end, Each each) const {
  if (page.coming != 0 && page.coming < end && page_of(page.coming).end > begin) each(page.coming);
  if (page.leaving != 0 && page.leaving < end && page.end > begin) each(page.leaving);
}

void LiveExtents::end_at(std::uint64_t begin) {
  Page *const first = &page_of(begin), *const last = &page_of(first->end - 1);
  for (Page* page = first + 1; page <= last; ++page) word(page->coming).store(0, std::memory_order_release);
  word(first->leaving).store(0, std::memory_order_release);
  word(first->end).store(0, std::memory_order_release);
}

std::optional<Extent> LiveExtents::at(Address address, Address base) const {
  const std::uint64_t wanted = address.value();
  if (!holds(wanted, wanted + 1)) return std::nullopt;
  Page& page = page_of(wanted);
  std::uint64_t begin = word(page.leaving).load(std::memory_order_acquire);
  std::uint64_t end = 0;
  if (begin != 0 && begin <= wanted) {
    end = word(page.end).load(std::memory_order_acquire);
  } else {
    begin = word(page.coming).load(std::memory_order_acquire);
    if (begin != 0) end = word(page_of(begin).end).load(std::memory_order_acquire);
  }
  if (end <= wanted) return std::nullopt;
  begin = std::max(begin, base.value());
  return Extent{Bytes(begin - base.value()), Bytes(end - begin)};
}

}  // namespace tessera
