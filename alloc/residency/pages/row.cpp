#include "residency/pages/row.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/atomic_max.hpp"

namespace tessera {
namespace {

// Adds what a part brings to the sums of its range, or takes it away.
template <class Change>
void change_sums(Run& range, const Run& part, Change change) {
  change(range.shape.large, part.shape.large);
  change(range.shape.base, part.shape.base);
  for (std::size_t i = 0; i < range.shape.between.size(); ++i) change(range.shape.between[i], part.shape.between[i]);
  for (std::size_t state = 0; state < kPageStates; ++state) {
    change(range.bytes_by_state[state], part.bytes_by_state[state]);
  }
}

}  // namespace

// Two large pages each. The tail makes the last part larger, with one large page.
std::vector<RunShape> part_shapes(RunShape whole) {
  constexpr auto kLargePerPart = static_cast<std::uint32_t>(kMostPart / kLargePage);
  std::vector<RunShape> shapes;
  std::uint32_t left = whole.large;
  const std::uint32_t alone = whole.tail() != 0 ? 1 : 0;  // large pages that go with the tail
  while (left > alone) {
    const std::uint32_t large = std::min(kLargePerPart, left - alone);
    shapes.push_back({large, 0});
    left -= large;
  }
  if (whole.tail() != 0) shapes.push_back({left, whole.base, whole.between});
  return shapes;
}

RunList make_row(Run& run) {
  RunList parts;
  Address at = run.address;
  auto page = run.pages.begin();
  for (const RunShape shape : part_shapes(run.shape)) {
    RunOwner owner = run.owner;
    owner.name = at.value() + 1;  // unlike that of the row, which may begin at the same address
    auto part = std::make_unique<Run>(at, shape, run.tag, owner);
    part->row = &run;
    part->quiet = run.quiet;
    part->uses = run.uses;
    part->prefetch = run.prefetch;
    part->unfinished = run.unfinished;
    part->fresh.store(run.fresh.load());
    part->live.store(run.live.load());  // read only where the owner has no words
    part->missing.store(0);
    part->bytes_in(PageState::kEmpty) = {};
    for (std::uint32_t i = 0; i < shape.pages(); ++i, ++page) {
      page->traits = 0;
      if (!is_present(page->state)) part->missing.fetch_add(1);
      part->bytes_in(page->state) += page_bytes(shape.page_class(i));
      part->pages[i] = std::move(*page);
    }
    at = at + shape.bytes();
    run.parts.push_back(part.get());
    parts.push_back(std::move(part));
  }
  run.pages.clear();
  run.is_row.store(true, std::memory_order_release);
  return parts;
}

PageRef page_of_row(const Run& row, std::uint32_t page) {
  auto part = row.parts.begin();
  for (; page >= (*part)->shape.pages(); ++part) page -= (*part)->shape.pages();
  return {*part, page};
}

void move_to_row(const Run& row, std::span<PageRef> pages) {
  for (PageRef& page : pages) {
    if (page.run == &row) page = page_of_row(row, page.page);
  }
}

std::vector<Run*> with_parts(std::span<Run* const> runs) {
  std::vector<Run*> result;
  result.reserve(runs.size());
  for (Run* const run : runs) {
    if (run->is_row.load(std::memory_order_acquire)) {
      result.insert(result.end(), run->parts.begin(), run->parts.end());
    } else {
      result.push_back(run);
    }
  }
  return result;
}

std::vector<PageRef> pages_of(Run& run) {
  std::vector<PageRef> pages;
  pages.reserve(run.shape.pages());
  Run* const self = &run;
  for (Run* const part : with_parts({&self, 1})) {
    for (std::uint32_t i = 0; i < part->shape.pages(); ++i) pages.push_back({part, i});
  }
  return pages;
}

std::unordered_map<std::uint64_t, Run*> by_name(const RunList& runs) {
  std::unordered_map<std::uint64_t, Run*> found;
  for (const auto& run : runs) {
    found[run->name] = run.get();
    found[run->whole().name] = &run->whole();
  }
  return found;
}

std::span<Run* const> parts_in(const Run& row, Extent stretch) {
  const std::span<Run* const> parts = row.parts;
  const Address begin = row.address + stretch.offset, end = row.address + stretch.end();
  const auto is_before = [](const Run* part, Address at) { return part->address + part->shape.bytes() <= at; };
  const auto first = std::lower_bound(parts.begin(), parts.end(), begin, is_before);
  auto last = first;
  while (last != parts.end() && (*last)->address < end) ++last;
  return {first, last};
}

// Its name is not that of a run at the same address.
std::unique_ptr<Run> make_range(Address address, TagId tag) {
  auto range = std::make_unique<Run>(address, RunShape{}, tag, RunOwner{nullptr, {}, address.value() + 1});
  range->is_range = true;
  range->is_row.store(true);
  return range;
}

void join_range(Run& range, Run& part) {
  change_sums(range, part, [](auto& sum, auto one) { sum += one; });
  range.missing.fetch_add(part.missing.load());
  range.live.fetch_add(1);
  // Extents that were set did not count it in; those that are added one by one come after it.
  range.is_cut.store(range.live_extents.load() != nullptr && !range.stays_whole.load());
  part.row = &range;
  part.is_cut.store(true);
  range.parts.insert(std::ranges::upper_bound(range.parts, part.address, {}, &Run::address), &part);
}

void leave_range(Run& part) {
  Run& range = *part.row;
  change_sums(range, part, [](auto& sum, auto one) { sum -= one; });
  range.missing.fetch_sub(part.missing.load());
  range.live.fetch_sub(1);
  std::erase(range.parts, &part);
  if (LiveExtents* const live = range.live_extents.load()) live->clear(part.address, part.shape.bytes());
  raise_to(part.used, range.used.load());
  raise_to(part.written, range.written.load());
  part.streams.fetch_or(range.streams.load());
  part.is_cut.store(false);
  part.row = nullptr;
}

void clear_range(Run& range) {
  range.is_cut.store(false);
  range.is_wide.store(false);
  delete range.extents.exchange(nullptr);
  range.live_extents.store(nullptr);
  range.stays_whole.store(false);
  if (NamedStarts* const starts = range.starts.load()) starts->clear();
  range.pins.store(0);
  range.exposure = {};
}

// What the streams have queued on a part counts for the block.
void end_block(Run& row) {
  row.is_cut.store(false);
  row.stays_whole.store(false);
  if (LiveExtents* const live = row.live_extents.exchange(nullptr)) live->clear(row.address, row.shape.bytes());
  std::uint64_t users = 0;
  for (Run* const part : row.parts) {
    part->fresh.store(true, std::memory_order_relaxed);
    part->named.note_end(part->used.load());
    users |= part->streams.load();
  }
  row.streams.fetch_or(users);
}

Status validate_row(const Run& row) {
  const auto wrong = [&row](const char* what) {
    return Status(Code::kInternal, fmt::format("row {:#x}: {}", row.address.value(), what));
  };
  if (!row.pages.empty()) return wrong("pages of its own");
  std::uint32_t missing = 0;
  std::array<Bytes, kPageStates> bytes;
  Bytes all;
  Address next = row.address;
  for (const Run* part : row.parts) {
    const bool follows = row.is_range ? part->address >= next : part->address == next;
    if (part->row != &row || !follows) return wrong("its parts do not follow each other");
    next = part->address + part->shape.bytes();
    all += part->shape.bytes();
    missing += part->missing.load();
    for (std::size_t state = 0; state < kPageStates; ++state) bytes[state] += part->bytes_by_state[state];
  }
  if (all != row.shape.bytes()) return wrong("its parts do not fill it");
  if (missing != row.missing.load()) return wrong("its missing pages do not add up");
  if (bytes != row.bytes_by_state) return wrong("its bytes by state do not add up");
  return {};
}

}  // namespace tessera
