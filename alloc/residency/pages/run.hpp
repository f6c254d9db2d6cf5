// A run as residency sees it: contiguous pages that are used, and at present moved, together.
//
// A large block may be a *row* of runs (row.hpp), which are used and moved one by one: its parts. Launches that use all
// of the block stamp the row alone; the engine reads a part's stamps together with those of its row.
//
// The atomics on the first lines are what a launch reads and stamps without a lock; everything below `pages` belongs to
// the engine and its lock. The layers above attach their own record to `owner`, which residency never reads.
//
// Thread safety: the atomics by any thread (stamps only inside the gate, or while held); the rest under the engine's
// lock, unless a comment says otherwise.
//
// Invariants (validate_run())
//  1. missing == the number of pages that are not present (page_state.hpp).
//  2. A page that is mapped or apart has a device frame; any other has none.
//  3. A kCold page has a peer, host or file frame that holds its bytes; one with a peer frame has neither of the
//     others.
//  4. bytes_by_state counts each page in its current state.
//  5. A kGone page's bytes can be recomputed, or are dead.
//  6. A row has no pages of its own: `missing` and bytes_by_state are the sums over its parts.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/page_class.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "residency/pages/copy_lanes.hpp"
#include "residency/pages/extents.hpp"
#include "residency/pages/fingerprint_desk.hpp"
#include "residency/pages/fingerprint_worth.hpp"
#include "residency/pages/page_state.hpp"
#include "residency/pages/recompute.hpp"
#include "residency/pages/run_cost.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

// What an eviction searches for (runs_by_trait.hpp): pages that are kResident, those of them that also have a copy in a
// lower tier, and pages that are kCold, by where their bytes are.
enum class PageTrait : std::uint8_t { kResident, kCopyInPeer, kCopyInHost, kCopyInFile, kColdInPeer, kColdInHost };
inline constexpr std::size_t kPageTraits = 6;

struct Page {
  PageState state = PageState::kEmpty;
  bool staging = false;               // the host frame is from the staging reserve, and must be vacated soon
  bool onward = false;                // a plan sends it to the file: its host frame is temporary
  bool backed = false;                // kCold: the host frame is mapped at the page's own address
  Nearest place = Nearest::kNowhere;  // as last reported to the event log
  std::optional<Frame> device;
  std::optional<Frame> peer;                     // while `device` is set too: a copy as of epoch `copied`
  std::optional<Frame> host;                     // the same
  std::optional<Frame> file;                     // the same
  std::uint64_t copied = 0;                      // the run's last use when the copy below was (or is being) made
  std::uint64_t asked = 0;                       // the same when the check of that copy was queued
  CopyLocation leaves_to = CopyLocation::kHost;  // during a check: target if the page has changed
  std::uint64_t users = 0;                       // is_evicting(): slots of the streams to wait for
  bool parts = false;                            // kResident: it is evicted by way of kParting next
  bool asks = false;                             // kParting: it is checked for changes once unmapped
  bool recalled = false;  // kEvicting, kChecking: it was apart and mapped again; the result is not used
  EventId event;          // of the copy out or in, of the check, or of the recomputing work
  IoTicket io;            // kSpilling, kLoading: the transfer
  Nanoseconds started;    // when the transfer in flight was queued
  std::optional<Fingerprint> fingerprint;                             // of the copy below, if one was taken
  FingerprintDesk::Place fingerprint_at = FingerprintDesk::kNowhere;  // is_evicting(): the pending one
  FingerprintHabit habit;
  bool wants_fingerprint = false;  // for the copy that is made next
  bool candidate = false;          // the host frame is kept below a page that may have changed
  bool listed = false;             // in the list of candidates (page_copies.hpp)
  bool proven = false;             // `copied` was confirmed by a fingerprint
  std::uint8_t traits = 0;         // a bit for each, as counted in its run

  bool has_copy() const { return peer || host || file; }
  // One copy brings it to the device.
  bool is_near() const { return peer || host; }
  // The epoch as of which the transfer in flight is valid.
  std::uint64_t as_of() const {
    const bool is_asked =
        state == PageState::kChecking || state == PageState::kApartChecking || (state == PageState::kParting && asks);
    return is_asked ? asked : copied;
  }
};

// The record of the layer above.
struct RunOwner {
  void* record = nullptr;
  // One for each block it can have, odd while the block lives. Code that makes a block live does so with sequential
  // consistency, and reads the run's `missing` afterwards.
  std::span<const std::atomic<std::uint64_t>> words;
  // For a run that has the same role in every iteration: its successor in that role has the same name, from kGivenNames
  // up (launch_signature.hpp).
  std::optional<std::uint64_t> name{};
};

struct Run;

// The runs, or the rows, of an engine, which owns them.
using RunList = std::vector<std::unique_ptr<Run>>;

struct Run {
  Run(Address run_address, RunShape run_shape, TagId run_tag, RunOwner run_owner = {})
      : address(run_address),
        shape(run_shape),
        tag(run_tag),
        name(run_owner.name.value_or(run_address.value())),
        owner(run_owner),
        missing(run_shape.pages()),
        pages(run_shape.pages()) {
    bytes_in(PageState::kEmpty) = shape.bytes();
  }
  ~Run() { delete extents.load(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Address address;  // changes only while no map has it (Residency::rehome)
  RunShape shape;   // constant, but for a range: the sum of its parts', which changes under the engine's lock
  const TagId tag;
  std::uint64_t name;  // its identity for the learner: its address, unless the owner names it
  RunOwner owner;      // from before the run is published until it is removed or disowned

  // All that a launch reads and writes of a run, in one cache line.
  alignas(64) std::atomic<std::uint32_t> missing;  // pages not present; 0 = a launch may use it
  std::atomic<std::uint32_t> live{0};              // blocks that may be live; 0 = no launch can use it
  std::atomic<std::uint64_t> used{0};              // epoch of the last announced use
  std::atomic<std::uint64_t> written{0};           // epoch of the last announced use that may write
  std::atomic<std::uint64_t> gap{0};               // epochs between its last two uses; 0 = unknown
  std::atomic<bool> fresh{true};                   // allocated since its last use
  std::atomic<bool> is_row{false};                 // `parts` are there, and stay
  std::atomic<bool> is_cut{false};                 // an address in it may mean less, or more, than the run
  std::atomic<bool> is_wide{false};                // of a range: not all of it fitted on the device for a use
  std::atomic<std::uint64_t> recomputed_in{0};     // nanoseconds, for the learner; 0 = no callback
  std::atomic<std::uint64_t> streams{0};           // a bit per StreamTable slot that may still use it
  std::atomic<std::uint64_t> freed{0};             // epoch in which one of its blocks was last freed

  std::atomic<std::uint32_t> pins{0};   // by the caller, plus 1 if exposed and 1 if kept
  std::atomic<std::uint32_t> holds{0};  // calls in progress that need it: not evictable

  Run* row = nullptr;                            // of which it is a part; changes as `address` does
  bool is_range = false;                         // a row of runs that the program maps: they come and go (row.hpp)
  std::vector<Run*> parts;                       // of a row, in address order; constant but for a range
  std::atomic<const Extents*> extents{nullptr};  // of a row: owned; read inside the gate, or by a reader of the pages

  std::vector<Page> pages;
  std::uint64_t quiet = 0;    // every use up to this epoch is known to be over
  std::uint64_t next = 0;     // number of the launch of its next use, as counted by IterationTracker; 0 = unknown
  std::uint32_t often = 0;    // uses that IterationTracker has read while memory was short (decayed_count.hpp), ...
  std::uint64_t counted = 0;  // ... as of this epoch, that of the last of them
  std::size_t index = 0;      // in the engine's list
  std::size_t mention = 0;    // where the launch being read may mention it (iteration_tracker.cpp)
  bool prefetch_requested = false;  // prefetched: pages that reach the host go on to the device
  std::uint64_t called = 0;         // its last use at the time of the prefetch
  const char* exposed = nullptr;    // why it may not move, if it may not
  std::uint32_t keeps = 0;          // places outside the heap known to hold its address
  const char* kept_for = nullptr;   // the reason, while there are any
  RunCost cost;
  std::optional<Recompute> recompute;  // as it was set last, valid or not
  bool being_recomputed = false;       // its callback is running
  // Set where a failed callback left work that could not be waited for: it may still write to the pages.
  std::optional<StreamId> unfinished;

  std::array<Bytes, kPageStates> bytes_by_state;  // of its pages, by state
  std::array<std::uint32_t, kPageTraits> pages_with{};

  Bytes& bytes_in(PageState state) { return bytes_by_state[static_cast<std::size_t>(state)]; }
  Bytes bytes_in(PageState state) const { return bytes_by_state[static_cast<std::size_t>(state)]; }
  bool has(PageState state) const { return static_cast<bool>(bytes_in(state)); }
  bool has(PageTrait trait) const { return pages_with[static_cast<std::size_t>(trait)] != 0; }
  // Pages that are on the device and in a lower tier as well.
  bool has_copies_beside() const {
    return has(PageTrait::kCopyInPeer) || has(PageTrait::kCopyInHost) || has(PageTrait::kCopyInFile);
  }
  // Bytes that are being evicted.
  Bytes evicting_bytes() const {
    return bytes_in(PageState::kEvicting) + bytes_in(PageState::kChecking) + bytes_in(PageState::kParting) +
           bytes_in(PageState::kApartEvicting) + bytes_in(PageState::kApartChecking);
  }
  // Bytes of it are being fetched: the frames may be used, but not moved.
  bool is_fetching() const { return has(PageState::kFetching) || has(PageState::kRecomputing); }
  Address page_address(std::uint32_t page) const { return address + shape.offset(page); }
  // No block of it lives, so its bytes do not matter.
  bool is_dead() const {
    if (owner.words.empty()) return live.load() == 0;
    return std::ranges::none_of(owner.words, [](const auto& word) { return word.load() & 1; });
  }
  // At most one block lives.
  bool lives_alone() const {
    return std::ranges::count_if(owner.words, [](const auto& word) { return word.load() & 1; }) <= 1;
  }
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
  bool awaits_recompute() const { return has(PageState::kGone) || has(PageState::kBlank); }
  // All its pages have frames, some of which the callback has to fill.
  bool is_blank() const {
    return has(PageState::kBlank) && bytes_in(PageState::kBlank) + bytes_in(PageState::kResident) + evicting_bytes() +
                                             bytes_in(PageState::kFetching) + bytes_in(PageState::kRecomputing) ==
                                         shape.bytes();
  }
  // Prefetched and not used since, so a use is expected.
  bool is_expected() const { return prefetch_requested && last_work() <= called; }
  // No work on the run is newer.
  std::uint64_t last_work() const {
    const std::uint64_t own = std::max(used.load(), freed.load());
    return row == nullptr ? own : std::max(own, row->last_work());
  }
  // No announced use that may write is newer.
  std::uint64_t last_write() const {
    return row == nullptr ? written.load() : std::max(written.load(), row->written.load());
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
  const char* stays_for() const {
    const Run& block = whole();
    return block.exposed != nullptr ? block.exposed : block.kept_for;
  }
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
inline bool is_clean(const Run& run, const Page& page) { return page.has_copy() && page.copied >= run.last_write(); }

Status validate_run(const Run& run);

}  // namespace tessera
