#include "residency/run_ranges.hpp"

#include <algorithm>
#include <queue>
#include <unordered_set>
#include <utility>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// From one named run through its range, upwards or downwards.
struct Walk {
  const std::vector<Run*>* parts;
  std::ptrdiff_t at;
  std::ptrdiff_t step;
  Bytes walked;

  bool has_next() const { return at + step >= 0 && at + step < static_cast<std::ptrdiff_t>(parts->size()); }
  Run* next() {
    at += step;
    Run* const run = (*parts)[static_cast<std::size_t>(at)];
    walked += run->shape.bytes();
    return run;
  }
};

struct IsFarther {
  bool operator()(const Walk& one, const Walk& other) const { return one.walked > other.walked; }
};

}  // namespace

Run* RunRanges::add(Address address, TagId tag) {
  MutexLock lock(locked_.mutex);
  runs_.expect_names_of_parts();
  return &locked_.rows.add_range(address, tag);
}

void RunRanges::remove(Run* range) {
  MutexLock lock(locked_.mutex);
  locked_.executor.follow();  // launches so far refer to it
  locked_.executor.forget(*range);
  locked_.rows.remove_range(*range);
}

Bytes RunRanges::bytes_of(Runs runs) const {
  MutexLock lock(locked_.mutex);
  std::unordered_set<const Run*> counted;
  Bytes bytes;
  for (const Run* const run : runs) {
    if (counted.insert(run).second) bytes += run->shape.bytes();
  }
  return bytes;
}

std::vector<Run*> RunRanges::parts_of(const Run& range) const {
  MutexLock lock(locked_.mutex);
  return range.parts;
}

bool RunRanges::fits(Runs runs) const {
  MutexLock lock(locked_.mutex);
  const auto is_partial = [](const Run* run) { return run->has(PageState::kZeroCopy); };
  return std::ranges::none_of(runs, is_partial) && !locked_.fetcher.excess_of(runs);
}

bool RunRanges::can_be_partial() const { return locked_.tiers.zero_copy != nullptr; }

RunRanges::Share RunRanges::share_of(Runs runs) {
  MutexLock lock(locked_.mutex);
  const Bytes excess = locked_.fetcher.excess_of(runs);
  if (!excess) return Share::kFits;
  if (!can_be_partial() || excess > locked_.tiers.host.usage().capacity) return Share::kNearest;
  const std::uint32_t left = skips_.load();
  if (left == 0) return Share::kPartial;
  skips_.store(left - 1);
  return Share::kNearest;
}

void RunRanges::note_partial(Runs runs) {
  next_skips_.store(1);
  for (Run* const run : runs) run->is_wide.store(false);
}

void RunRanges::note_not_partial() {
  const std::uint32_t skips = next_skips_.load();
  skips_.store(skips);
  next_skips_.store(std::min(skips * 2, kMostSkipped));
}

// Once: what follows from it may look like an error of the program.
void RunRanges::say_not_all(const Run& range) {
  if (std::exchange(said_not_all_, true)) return;
  log_line(LogLevel::kWarning,
           "a launch names memory that the program has mapped itself: {} MiB in one reservation do not fit with the "
           "rest, so it gets what fits around its addresses; a kernel that uses more fails with an illegal address",
           range.shape.bytes() / 1_MiB);
}

// All walks of a direction advance by the same number of bytes. One that reaches a run where another has been ends: the
// other goes on from there.
std::vector<Run*> RunRanges::with_nearest(Runs named, Runs origins) {
  MutexLock lock(locked_.mutex);
  std::vector<Run*> result;
  std::unordered_set<const Run*> taken, walked;
  Bytes wanted = locked_.engine.pinned_bytes;
  const auto take = [&](Run* run) {
    if (!taken.insert(run).second) return;
    result.push_back(run);
    if (!run->is_pinned()) wanted += run->shape.bytes() - run->bytes_in(PageState::kZeroCopy);
  };
  for (Run* const run : named) take(run);
  if (locked_.tiers.is_backed()) return result;  // the others can be used where they are
  const Bytes capacity = locked_.tiers.device.usage().capacity;
  for (const std::ptrdiff_t step : {1, -1}) {
    std::priority_queue<Walk, std::vector<Walk>, IsFarther> walks;
    for (Run* const origin : origins) {
      const std::vector<Run*>& parts = origin->row->parts;
      const auto at = std::ranges::lower_bound(parts, origin->address, {}, &Run::address);
      walks.push({&parts, at - parts.begin(), step, Bytes()});
    }
    walked.clear();
    while (!walks.empty()) {
      Walk walk = walks.top();
      walks.pop();
      if (!walk.has_next()) continue;
      Run* const run = walk.next();
      if (!walked.insert(run).second) continue;
      const Bytes more = run->shape.bytes() - run->bytes_in(PageState::kZeroCopy);
      const bool fits = taken.contains(run) || run->is_pinned() || wanted + more <= capacity;
      if (!fits) {
        for (Run* const origin : origins) origin->row->is_wide.store(true);
        say_not_all(*run->row);
        return result;
      }
      take(run);
      walks.push(walk);
    }
  }
  return result;
}

}  // namespace tessera
