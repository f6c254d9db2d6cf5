#include "api/uses.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace tessera {
namespace {

// A part of a large run is named, and some of the run is away: as a row, only the part has to come.
bool profits_from_parts(const Run&, Address) { return false; }
bool profits_from_parts(const Run& run, const AddressRange& named) {
  if (!named.bytes || run.shape.bytes() < kLeastRow || run.is_row.load() || run.row != nullptr) return false;
  return run.missing.load() != 0 && named.bytes < run.shape.bytes();
}

bool is_in_range(const Run* run) { return run->is_range || (run->row != nullptr && run->row->is_range); }

// Where the runs are not all present, do not fit together, and some are ranges, a use may mean less.
RunRanges::Share share_of(DeviceHeap& heap, std::span<Run* const> runs) {
  const auto is_away = [](const Run* run) { return run->is_range && run->missing.load() != 0; };
  return std::ranges::any_of(runs, is_away) ? heap.residency().ranges().share_of(runs) : RunRanges::Share::kFits;
}

// What such a use gets: the runs that it names, which are counted, and those nearest to them.
template <class Named>
std::vector<Run*> nearest_of(std::span<const Named> named, DeviceHeap& heap, const BlockCache::Lookup& lookup,
                             Use& use) {
  std::vector<Run*> runs, origins;
  std::unordered_set<const Run*> distinct;
  const auto add = [&](Run* run) {
    if (distinct.insert(run).second) runs.push_back(run);
  };
  for (const Named& each : named) {
    if (!heap.holds(address_of(each))) continue;
    Run* run = lookup.run_of(address_of(each));
    if (Run* const range = run == nullptr ? range_around(heap.pages().map(), each) : nullptr) {
      run = nearest_in_range(heap.pages().map(), *range, address_of(each));
    }
    if (run == nullptr) continue;
    if (run->row != nullptr && !named_in_range(*run->row, each)) {
      add(run);
      origins.push_back(run);
    } else {
      for_each_named(heap.pages().map(), run, each, add);
    }
  }
  use.named = static_cast<std::uint32_t>(runs.size());
  return heap.residency().ranges().with_nearest(runs, origins);
}

}  // namespace

bool Uses::try_begin(std::span<const Address> addresses, StreamId stream, Access access, AnnouncedUse& use) {
  if (recorder_.is_on()) return false;
  const auto first =
      std::find_if(addresses.begin(), addresses.end(), [this](Address address) { return heaps_.manages(address); });
  if (first == addresses.end()) return try_other(stream, use);
  DeviceHeap* const heap = heaps_.of(*first);
  if (heap == nullptr) return false;
  // Two instances, so that programs without extents and ranges do not pay for them.
  const auto try_with = [&](auto names_parts) {
    FoundRuns found;
    const auto find = [&, low = heap->pages().low(), high = heap->pages().high(), &pages = heap->pages().map(),
                       end = addresses.end()]() -> std::optional<std::span<Run* const>> {
      for (auto address = first; address != end; ++address) {
        if (*address >= low && *address < high) [[likely]] {
          Run* const run = BlockCache::live_run_of(pages, *address);
          if (run == nullptr) [[unlikely]] {
            if constexpr (names_parts()) {
              if (Run* const range = range_around(pages, *address)) {
                name_around(pages, range, *address, [&found](Run* part) { found.add(part); });
                continue;
              }
            }
            if (use.refuses_strays) return std::nullopt;
            continue;
          }
          if constexpr (names_parts()) {
            for_each_named(pages, run, *address, [&found](Run* part) { found.add(part); });
          } else {
            found.add(run);
          }
        } else if (heaps_.manages(*address)) {
          return std::nullopt;  // of another device
        }
      }
      if (found.all().empty()) return std::nullopt;
      return found.all();
    };
    return heap->residency().try_use(find, stream, access, use.use);
  };
  const bool by_parts = heap->residency().runs().names_parts();
  if (by_parts && heap->residency().is_review_due()) return false;
  const bool used = by_parts ? try_with(std::true_type()) : try_with(std::false_type());
  if (!used) return false;
  if (by_parts && heap->residency().watches_names()) note_named(*heap, addresses);
  use.heap = heap;
  use.stream = stream;
  heaps_.kick_pump(*heap);
  return true;
}

// Work without managed blocks. With several devices the owner of its stream is unknown, and it is not timed.
bool Uses::try_other(StreamId stream, AnnouncedUse& use) {
  if (unnamed_.guards_all_work()) return false;
  DeviceHeap* const heap = heaps_.only();
  if (heap == nullptr || !heap->residency().try_time(stream, use.use)) return true;
  use.heap = heap;
  use.stream = stream;
  return true;
}

// REQUIRES: the runs cannot be removed meanwhile.
template <class Named>
void Uses::note_named(DeviceHeap& heap, std::span<const Named> named) {
  for (const Named& each : named) {
    const Address address = address_of(each);
    if (!heap.holds(address)) continue;
    Run* run = BlockCache::live_run_of(heap.pages().map(), address);
    if (run == nullptr) run = range_around(heap.pages().map(), each);
    if (run != nullptr) heap.residency().note_named(run->whole(), noted_bytes(*run, each));
  }
}

// Uses no thread_local state: programs use their blocks from exit handlers, when it is already destroyed.
template <class Named>
Status Uses::begin_named(std::span<const Named> named, StreamId stream, Access access, Use::Kind kind, const char* name,
                         AnnouncedUse& use) {
  use.use.work = name;
  use.use.copies = std::is_same_v<Named, AddressRange>;
  FoundRuns runs;
  use.stream = stream;
  DeviceHeap* heap = nullptr;
  std::optional<BlockCache::Lookup> lookup;
  for (const Named& each : named) {
    const Address address = address_of(each);
    DeviceHeap* home = heaps_.of(address);
    if (home == nullptr) continue;
    if (heap == nullptr) {
      heap = home;
      lookup.emplace(heap->blocks());
    } else if (home != heap) {
      lookup.reset();
      return begin_on_several(named, access, use);
    }
    Run* const run = lookup->run_of(address);
    if (run != nullptr && profits_from_parts(*run, each)) heap->residency().runs().expect_parts(run);
    const bool is_ours = for_each_meant(heap->pages().map(), run, each, [&runs](Run* part) { runs.add(part); });
    if (!is_ours && use.refuses_strays) return not_ours(address);
  }
  std::span<Run* const> found = runs.all();
  if (found.empty()) {
    if (kind == Use::Kind::kGate && unnamed_.guards_all_work()) unnamed_.enter_gates(use);
    return {};
  }
  std::optional<TraceWriter::OpKind> op;
  if (recorder_.is_on() && !is_inside_callback()) op = recorder_.op(named, stream, access, name != nullptr ? name : "");
  std::vector<Run*> nearest;
  const auto take_nearest = [&] {
    nearest = nearest_of(named, *heap, *lookup, use.use);
    found = nearest;
    access = Access::kWrite;  // which of them it writes is not told apart
  };
  RunRanges& ranges = heap->residency().ranges();
  const RunRanges::Share share = share_of(*heap, found);
  const bool is_partial = share == RunRanges::Share::kPartial;
  if (share == RunRanges::Share::kNearest) take_nearest();
  const bool in_range = std::ranges::any_of(found, is_in_range);
  if (heap->residency().watches_names()) note_named(*heap, named);
  const Held held = [&lookup] { lookup.reset(); };  // a callback may take long
  if (kind == Use::Kind::kHold) {
    Status status = begin_held({{heap, {found.begin(), found.end()}}}, access, use, held);
    if (is_partial && status.is_ok()) ranges.note_partial(found);
    if (!is_partial || status.code() != Code::kOutOfMemory || !lookup) return status;
    ranges.note_not_partial();
    take_nearest();
    return begin_held({{heap, nearest}}, access, use, held);
  }
  const bool names_less = use.use.oversized == Oversized::kRefused;  // the caller does, if this does not fit
  const auto begin = [&](Oversized oversized) {
    use.use.oversized = oversized;
    return heap->residency().begin_use(found, stream, access, kind, use.use, held);
  };
  const auto may_get_less = [&](const Status& status) {
    return status.code() == Code::kOutOfMemory && in_range && lookup && !(is_partial && names_less);
  };
  const bool is_refused_first = in_range && (share == RunRanges::Share::kNearest || !ranges.can_be_partial());
  Status status = begin(is_refused_first ? Oversized::kRefused : use.use.oversized);
  if (is_partial && status.is_ok()) ranges.note_partial(found);
  if (is_partial && may_get_less(status)) {
    ranges.note_not_partial();
    take_nearest();
    status = begin(Oversized::kRefused);
  }
  if (may_get_less(status)) {
    if (nearest.empty()) take_nearest();
    found = found.first(use.use.named);  // the room was an estimate, and the tiers below may be full
    status = begin(Oversized::kUsedInHost);
  }
  heaps_.kick_pump(*heap);
  if (!status.is_ok()) return explain(std::move(status), *heap, found);
  use.heap = heap;
  if (op) recorder_.begin_timing(*op, stream);
  return {};
}

Status Uses::begin(std::span<const Address> addresses, StreamId stream, Access access, Use::Kind kind, const char* name,
                   AnnouncedUse& use) {
  use.use.work = name;
  if (kind == Use::Kind::kGate && try_begin(addresses, stream, access, use)) return {};
  return begin_named(addresses, stream, access, kind, name, use);
}

Status Uses::begin(std::span<const AddressRange> ranges, StreamId stream, Access access, Use::Kind kind,
                   const char* name, AnnouncedUse& use) {
  return begin_named(ranges, stream, access, kind, name, use);
}

template <class Named>
Status Uses::begin_partly_written(std::span<const Named> named, std::size_t written, StreamId stream, const char* name,
                                  AnnouncedUse& use) {
  const bool all = written == named.size();
  TESSERA_TRY(begin(named, stream, all ? Access::kWrite : Access::kRead, Use::Kind::kGate, name, use));
  if (all) return {};
  for (const Named& each : named.last(written)) {
    DeviceHeap* const heap = heaps_.of(address_of(each));
    if (heap == nullptr) continue;
    const PageMap& map = heap->pages().map();
    for_each_meant(map, BlockCache::live_run_of(map, address_of(each)), each,
                   [heap](Run* part) { heap->residency().note_written(*part); });
  }
  return {};
}

Status Uses::begin(std::span<const Address> addresses, std::size_t written, StreamId stream, const char* name,
                   AnnouncedUse& use) {
  return begin_partly_written(addresses, written, stream, name, use);
}

Status Uses::begin(std::span<const AddressRange> ranges, std::size_t written, StreamId stream, const char* name,
                   AnnouncedUse& use) {
  return begin_partly_written(ranges, written, stream, name, use);
}

// A device cannot observe another device's stream, nor queue a callback on it. So all blocks are present before the
// work is queued, and the caller waits for the work before the use ends.
template <class Named>
Status Uses::begin_on_several(std::span<const Named> named, Access access, AnnouncedUse& use) {
  use.stream = kNoStream;
  std::vector<AnnouncedUse::Part> parts;
  std::deque<BlockCache::Lookup> lookups;  // open until the runs are held
  for (DeviceHeap* const heap : heaps_.all()) {
    const auto& lookup = lookups.emplace_back(heap->blocks());
    AnnouncedUse::Part part{heap, {}};
    for (const Named& each : named) {
      if (!heap->holds(address_of(each))) continue;
      Run* const run = lookup.run_of(address_of(each));
      if (run != nullptr && profits_from_parts(*run, each)) heap->residency().runs().expect_parts(run);
      for_each_meant(heap->pages().map(), run, each, [&part](Run* meant) { part.runs.push_back(meant); });
    }
    if (!part.runs.empty()) parts.push_back(std::move(part));
  }
  return begin_held(std::move(parts), access, use, {});
}

Status Uses::begin_held(std::vector<AnnouncedUse::Part> parts, Access access, AnnouncedUse& use, const Held& held) {
  for (auto& part : parts) {
    Status status = part.heap->residency().begin_use(part.runs, use.stream, access, Use::Kind::kHold, use.use, held);
    heaps_.kick_pump(*part.heap);
    if (!status.is_ok()) {
      end(use);
      return explain(std::move(status), *part.heap, part.runs);
    }
    use.held.push_back(std::move(part));
  }
  return {};
}

void Uses::end(AnnouncedUse& use) {
  if (use.heap != nullptr && recorder_.is_on()) recorder_.end_timing(use.stream);
  if (use.heap != nullptr) use.heap->residency().end_use({}, use.stream, use.use);
  for (auto& part : use.held) part.heap->residency().end_use(part.runs, use.stream, use.use);
  if (use.gates != 0) unnamed_.leave_gates(use);
  use.heap = nullptr;
  use.held.clear();
}

Status Uses::explain(Status status, DeviceHeap& heap, std::span<Run* const> runs) const {
  return oom_.explain(std::move(status), heap, heap.residency().ranges().bytes_of(runs),
                      OomFigures::Cause::kWorkingSet);
}

// What `shown` names too is shown.
void Uses::note_unshown(std::span<const Address> addresses, std::span<const Address> shown) {
  if (addresses.empty()) return;
  const auto add_runs = [this](Address address, std::vector<Run*>& runs) {
    DeviceHeap* const heap = heaps_.of(address);
    Run* const run = heap == nullptr ? nullptr : BlockCache::live_run_of(heap->pages().map(), address);
    if (run == nullptr) return;
    for_each_named(heap->pages().map(), run, address, [&runs](Run* each) { runs.push_back(each); });
  };
  std::vector<Run*> of_shown, others;
  for (const Address address : shown) add_runs(address, of_shown);
  for (const Address address : addresses) add_runs(address, others);
  std::erase_if(others, [&](const Run* run) { return std::ranges::find(of_shown, run) != of_shown.end(); });
  Residency::note_unshown(others);
}

// The common case of touch(), as try_begin() is for begin().
bool Uses::try_touch(DeviceHeap& heap, Address address, StreamId stream, Access access) {
  Use use;
  use.work = "touch";
  Run* run = nullptr;
  const auto find = [&run, address, &pages = heap.pages().map()]() -> std::optional<std::span<Run* const>> {
    run = BlockCache::block_run_of(pages, address);
    if (run == nullptr || run->is_cut.load(std::memory_order_relaxed)) return std::nullopt;
    return std::span<Run* const>(&run, 1);
  };
  if (!heap.residency().try_use(find, stream, access, use)) return false;
  heap.residency().end_use({}, stream, use);
  heaps_.kick_pump(heap);
  return true;
}

Status Uses::touch(Address address, StreamId stream, Access access) {
  DeviceHeap* const heap = heaps_.of(address);
  if (heap != nullptr && !recorder_.is_on() && try_touch(*heap, address, stream, access)) return {};
  return touch_absent(address, stream, access);
}

Status Uses::touch_absent(Address address, StreamId stream, Access access) {
  // A use names whole runs and ignores addresses outside of blocks; here that is an error.
  TESSERA_TRY(heaps_.check_is_ours(address));
  AnnouncedUse use;
  TESSERA_TRY(begin({&address, 1}, stream, access, Use::Kind::kGate, "touch", use));
  const bool found = use.heap != nullptr;
  end(use);
  return found ? Status() : not_ours(address);
}

}  // namespace tessera
