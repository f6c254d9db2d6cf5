// A run as residency sees it: contiguous pages that are used, and at present moved, together.
//
// A large block may be a *row* of runs (row.hpp), which are used and moved one by one: its parts. Launches that use all
// of the block stamp the row alone; the engine reads a part's stamps together with those of its row.
//
// The base LaunchLine is what a launch reads and stamps without a lock; everything below `row` belongs to the engine
// and its lock. The layers above attach their own record to `owner`.
//
// Thread safety: the atomics by any thread (stamps only inside the gate, or while held); the rest under the engine's
// lock, unless a comment says otherwise.
//
// Invariants (validate_run()): those of its pages (page.hpp), its launch line and its books, and
//  1. A row has no pages of its own: `missing` and bytes_by_state are the sums over its parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/epoch.hpp"
#include "base/page_class.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "residency/pages/extents.hpp"
#include "residency/pages/launch_line.hpp"
#include "residency/pages/live_extents.hpp"
#include "residency/pages/named_starts.hpp"
#include "residency/pages/named_uses.hpp"
#include "residency/pages/page.hpp"
#include "residency/pages/page_books.hpp"
#include "residency/pages/page_state.hpp"
#include "residency/pages/recompute.hpp"
#include "residency/pages/run_cost.hpp"
#include "residency/pages/run_owner.hpp"

namespace tessera {

struct Run;

// The runs, or the rows, of an engine, which owns them.
using RunList = std::vector<std::unique_ptr<Run>>;

// What the iteration tracker knows of a run's uses.
struct RunUses {
  std::uint64_t next = 0;   // number of the launch of its next use, as the tracker counts them; 0 = unknown
  Epoch foreseen{};         // ... which its use in that epoch says, ...
  bool named = false;       // ... and whether launches name what is used so
  std::uint32_t often = 0;  // uses that it has read while memory was short (decayed_count.hpp), ...
  Epoch counted{};          // ... as of this epoch, that of the last of them
  std::size_t mention = 0;  // where the launch being read may mention the run (iteration_tracker.cpp)
};

// Its pages that reach the host go on to the device, until it is used.
struct RunPrefetch {
  bool requested = false;
  Epoch as_of{};  // its last use at the time of the request
};

// Why a block may not leave the device though nothing uses it. Each of the two reasons is one pin.
struct RunExposure {
  const char* reason = nullptr;    // why its address is exposed, if it is
  std::uint32_t keeps = 0;         // places outside the heap known to hold its address
  const char* kept_for = nullptr;  // the reason, while there are any

  std::uint32_t pins() const { return (reason != nullptr ? 1U : 0U) + (keeps != 0 ? 1U : 0U); }
  const char* why() const { return reason != nullptr ? reason : kept_for; }
};

struct Run : LaunchLine, PageBooks {
  Run(Address run_address, RunShape run_shape, TagId run_tag, RunOwner run_owner = {})
      : LaunchLine(run_shape.pages()),
        address(run_address),
        shape(run_shape),
        tag(run_tag),
        name(run_owner.name.value_or(run_address.value())),
        owner(run_owner),
        pages(run_shape.pages()) {
    bytes_in(PageState::kEmpty) = shape.bytes();
  }
  ~Run() {
    delete extents.load();
    delete starts.load();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Address address;  // changes only while no map has it (Residency::rehome)
  RunShape shape;   // constant, but for a range: the sum of its parts', which changes under the engine's lock
  const TagId tag;
  std::uint64_t name;  // its identity for the learner: its address, unless the owner names it
  RunOwner owner;      // from before the run is published until it is removed or disowned

  // What keeps it on the device.
  std::atomic<std::uint32_t> pins{0};   // by the caller, plus exposure.pins()
  std::atomic<std::uint32_t> holds{0};  // calls in progress that need it: not evictable
  RunExposure exposure;

  // Rows (row.hpp).
  Run* row = nullptr;                            // of which it is a part; changes as `address` does
  bool is_range = false;                         // a row of runs that the program maps: they come and go
  std::vector<Run*> parts;                       // of a row, in address order; constant but for a range
  std::atomic<const Extents*> extents{nullptr};  // of a row: owned; read inside the gate, or by a reader of the pages
  std::atomic<LiveExtents*> live_extents{nullptr};  // of a row, in place of `extents`: where they are added one by one
  std::atomic<bool> stays_whole{false};             // of a row: its block is one object until it ends

  NamedUses named;
  std::atomic<NamedStarts*> starts{nullptr};  // of a block that has been partial: owned, and stays
  std::vector<Page> pages;
  std::size_t index = 0;  // in the engine's list
  Epoch quiet{};          // every use up to this epoch is known to be over
  RunUses uses;
  std::atomic<std::uint64_t> freed_at{0};  // the number of launches that were logged before its last block was freed
  RunPrefetch prefetch;
  RunCost cost;

  // Recomputing it (recompute.hpp).
  std::optional<Recompute> recompute;  // as it was set last, valid or not
  bool being_recomputed = false;       // its callback is running
  // Set where a failed callback left work that could not be waited for: it may still write to the pages.
  std::optional<StreamId> unfinished;

  Address page_address(std::uint32_t page) const { return address + shape.offset(page); }
  // No block of it lives, so its bytes do not matter.
  bool is_dead() const { return owner.words.empty() ? live.load() == 0 : !owner.has_living(); }
  // At most one block lives.
  bool lives_alone() const { return owner.living() <= 1; }
  // The word of its only block, which identifies the block's life.
  std::uint64_t life() const { return owner.words.size() == 1 ? owner.words[0].load() : 0; }
  // The callback can recompute the current bytes of its block.
  bool can_recompute() const {
    return recompute && recompute->written >= written.load() && recompute->life == life() && !is_dead();
  }
  // ... and no page is in transfer, so all of it may be dropped.
  bool can_drop() const {
    return can_recompute() && !unfinished &&
           bytes_in(PageState::kResident) + bytes_in(PageState::kCold) + bytes_in(PageState::kBlank) +
                   bytes_in(PageState::kGone) ==
               shape.bytes();
  }
  // All its pages have frames, some of which the callback has to fill.
  bool is_blank() const {
    return has(PageState::kBlank) && bytes_in(PageState::kBlank) + bytes_in(PageState::kResident) + evicting_bytes() +
                                             bytes_in(PageState::kFetching) + bytes_in(PageState::kRecomputing) ==
                                         shape.bytes();
  }
  // Prefetched and not used since, so a use is expected.
  bool is_expected() const { return prefetch.requested && last_work() <= prefetch.as_of; }
  // No work on the run is newer.
  Epoch last_work() const {
    const Epoch own = std::max(used.load(), freed.load());
    return row == nullptr ? own : std::max(own, row->last_work());
  }
  // No announced use that may write is newer.
  Epoch last_write() const { return row == nullptr ? written.load() : std::max(written.load(), row->written.load()); }
  UseStamps stamps() const { return {used.load(), gap.load(), freed.load()}; }
  // Launches have named it in the life of its block, by its own stamps and those of its row.
  bool is_named() const {
    const Epoch end = std::max(freed.load(), whole().freed.load());
    const auto names = [end](const Run& each) { return each.named.any({each.used.load(), each.gap.load(), end}); };
    return names(*this) || names(whole());
  }
  // Whether a use of it in that epoch was of the block that is there now.
  bool is_of_its_block(Epoch use) const {
    const auto is = [use](const Run& each) { return use >= each.freed.load() && use > each.named.ended(); };
    return is(*this) && is(whole());
  }
  // A bit per StreamTable slot that may still use it.
  std::uint64_t users() const { return row == nullptr ? streams.load() : streams.load() | row->streams.load(); }
  // The run that stands for all of its block.
  Run& whole() { return row == nullptr ? *this : *row; }
  const Run& whole() const { return row == nullptr ? *this : *row; }
  bool is_used_by_parts() const {
    return is_cut.load(std::memory_order_relaxed) || is_wide.load(std::memory_order_relaxed);
  }
  // The run by which the learner knows its uses: parts have uses of their own only where extents are known, or where
  // not all of them are used at once.
  Run& learned() { return row == nullptr || row->is_used_by_parts() ? *this : *row; }
  const Run& learned() const { return const_cast<Run*>(this)->learned(); }
  // The reason why it stays on the device, for the statistics; null: there is none.
  const char* stays_for() const { return whole().exposure.why(); }
  bool is_held() const { return holds.load() != 0 || whole().holds.load() != 0; }
  bool is_pinned() const { return pins.load() != 0 || whole().pins.load() != 0; }
  bool is_evictable() const { return !is_held() && !is_pinned(); }
  // Counts pages as missing, or no longer.
  void add_missing(std::uint32_t count = 1) {
    missing.fetch_add(count);
    if (row != nullptr) row->missing.fetch_add(count);
  }
  void drop_missing(std::uint32_t count = 1) {
    missing.fetch_sub(count);
    if (row != nullptr) row->missing.fetch_sub(count);
  }
};

// Whether the copy of its page in a lower tier equals the device's bytes, by what was announced.
inline bool is_clean(const Run& run, const Page& page) {
  return page.has_copy() && page.copy.epoch >= run.last_write();
}

Status validate_run(const Run& run);

}  // namespace tessera
