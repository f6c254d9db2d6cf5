// A row: a large block as several runs, so that its parts are used and moved one by one.
//
// The parts are 32 to 64 MiB each, and cut at the pages of the run that they replace: a page keeps its frame, its state
// and what is in flight for it. That run stays as the row. It has no pages any more, only their sums, so the pointers
// to it stay valid, and a launch that uses the whole block checks and stamps one run however large the block is.
//
// A *range* is a row of another kind: the runs that a program has mapped into addresses that it reserved. A kernel that
// is given an address there may use everything mapped there, so these runs are used as one, and stamped as one. They
// join and leave the range as they are mapped and unmapped. Launches find the runs in the page map, and the range by
// Run::row.
//
// Thread safety: none; the engine's lock. The parts of a row that is no range may be read by any thread once
// Run::is_row is set.
//
// Invariants: validate_row().
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "residency/pages/page_ref.hpp"
#include "residency/pages/run.hpp"

namespace tessera {

// Smaller blocks move as a whole.
inline constexpr Bytes kLeastRow = 256_MiB;
inline constexpr Bytes kMostPart = 64_MiB;

// The shapes of the parts of a run, in address order. REQUIRES: at least one large page.
std::vector<RunShape> part_shapes(RunShape whole);

// Moves the pages of the run into parts, which are returned. The run becomes the row; its page counts by trait stay for
// the caller to clear. REQUIRES: the run is not a row, and has at least one large page.
RunList make_row(Run& run);
// Where a page of that run is now: the `page`-th of the row.
PageRef page_of_row(const Run& row, std::uint32_t page);

// Makes the list name the pages of the row's parts where it names those of the run that became the row.
void move_to_row(const Run& row, std::span<PageRef> pages);

// The runs with pages: the parts of a row in place of the row.
std::vector<Run*> with_parts(std::span<Run* const> runs);
// The pages of a run, or of all parts of a row, in address order.
std::vector<PageRef> pages_of(Run& run);
// These runs and their rows, by name (Run::name).
std::unordered_map<std::uint64_t, Run*> by_name(const RunList& runs);
// The parts of a row that have bytes in this stretch of it, in address order. REQUIRES: Run::is_row is set.
std::span<Run* const> parts_in(const Run& row, Extent stretch);

// A range without parts, for addresses that begin at `address`.
std::unique_ptr<Run> make_range(Address address, TagId tag);
// The run is mapped into the range's addresses, or will not be any more. What the range's uses have stamped is stamped
// on a run that leaves. REQUIRES: no launch can find the run, and the gate is closed.
void join_range(Run& range, Run& part);
void leave_range(Run& part);
// What is mapped in the range next is one object, of which nothing is known, and pinned by nothing. REQUIRES: it has no
// parts, and the gate is closed.
void clear_range(Run& range);

// The block of the row has ended; the next one in it is one object. REQUIRES: no launch may find it any more.
void end_block(Run& row);

Status validate_row(const Run& row);

}  // namespace tessera
