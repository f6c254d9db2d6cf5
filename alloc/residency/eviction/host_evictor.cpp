#include "residency/eviction/host_evictor.hpp"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

// Full host memory is drained by this much at a time, so that several writes are in flight; a small budget by less.
constexpr Bytes kSinkBatch = 16_MiB;
constexpr std::uint64_t kBatchesInHost = 10;

Bytes batch_of(const HostTier& host) { return std::min(kSinkBatch, host.usage().capacity / kBatchesInHost); }

}  // namespace

Status HostEvictor::make_room(Bytes bytes) {
  if (drop_idle_copies(Location::kHost, bytes)) return {};
  TESSERA_TRY_ASSIGN(const Bytes ended, discard_in_host());
  if (ended) return {};
  Bytes sunk;
  if (!moves_.ledger.moving(PageState::kSpilling)) {
    TESSERA_TRY_ASSIGN(sunk, spill_coldest(std::max(bytes, batch_of(engine_.tiers.host))));
  }
  if (transfers_.any()) return transfers_.ends.finish(Transfers::Await::kOldest);
  if (sunk) return {};
  return Status(Code::kOutOfMemory, "host memory is full and nothing can be spilled");
}

Result<bool> HostEvictor::yield_to(const Run& newcomer, Bytes bytes) {
  const TierStack& tiers = engine_.tiers;
  if (tiers.is_backed() || !tiers.file.reach()) return false;
  if (const Bytes room = tiers.host.usage().room(); room < bytes) drop_idle_copies(Location::kHost, bytes - room);
  if (tiers.host.usage().room() >= bytes) return false;
  Bytes yielding = transfers_.in_flight.yielding();
  const Bytes batch = batch_of(tiers.host);
  if (yielding < std::max(bytes, batch * 2)) {
    Bytes more;
    TESSERA_TRY_ASSIGN(more, spill_coldest(std::max(bytes, batch), &newcomer));
    yielding += more;
  }
  return yielding && tiers.host.usage().room() < bytes;
}

Bytes HostEvictor::drop_idle_copies(Location in, Bytes bytes) {
  Bytes dropped;
  for (const bool clean : {false, true}) {
    for (Run& run : engine_.with(in == Location::kPeer ? PageTrait::kCopyInPeer : PageTrait::kCopyInHost)) {
      for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
        if (clean && dropped >= bytes) return dropped;
        const PageRef page{&run, i};
        if (page->state != PageState::kResident || !page->is_near() || beside_of(*page) != in) continue;
        if (is_clean(*page.run, *page) != clean) continue;
        in == Location::kPeer ? moves_.copies.drop_peer(page) : moves_.copies.drop_host(page);
        dropped += page.bytes();
      }
    }
  }
  return dropped;
}

Result<Bytes> HostEvictor::discard_dead(Location in, Bytes bytes) {
  Bytes discarded;
  for (Run& run : engine_.with(in == Location::kPeer ? PageTrait::kColdInPeer : PageTrait::kColdInHost)) {
    if (discarded >= bytes) break;
    if (!run.is_dead()) continue;
    for (std::uint32_t i = 0; i < run.shape.pages() && discarded < bytes; ++i) {
      const PageRef page{&run, i};
      if (page->state != PageState::kCold || !page->is_near() || beside_of(*page) != in) continue;
      TESSERA_TRY(moves_.releases.discard(page));
      discarded += page.bytes();
    }
  }
  return discarded;
}

Result<Bytes> HostEvictor::discard_in_host() {
  Bytes discarded;
  if (!engine_.any_in_host.load()) return discarded;  // most programs: no launch waits for this
  const Gate::Closed closed(engine_.gate);
  if (!closed.is_closed()) return discarded;
  for (const PageTrait trait : {PageTrait::kZeroCopy, PageTrait::kReachable}) {
    for (Run& run : engine_.with(trait)) {
      const std::uint64_t users = trait == PageTrait::kZeroCopy ? run.users() : StreamTable::kAllStreams;
      if (!run.is_evictable() || !engine_.streams.passed(users, run.last_work())) continue;
      TESSERA_TRY_ASSIGN(const Bytes more, moves_.zero_copy.discard_dead(run));
      discarded += more;
    }
  }
  return discarded;
}

Snapshot HostEvictor::picture(Bytes need, PageClass most) {
  Snapshot snapshot{
      .shortage = Location::kHost, .need = need, .epoch = engine_.streams.epoch(), .runs = std::move(pictures_)};
  snapshot.runs.clear();
  for (Run& run : engine_.with(PageTrait::kColdInHost)) {
    RunPicture picture = engine_.picture_of(run, snapshot.epoch);
    for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
      const PageRef page{&run, i};
      if (page->state != PageState::kCold || !page->host || page.page_class() > most) continue;
      picture.bytes += page.bytes();
      if (page->file) picture.clean += page.bytes();
    }
    if (picture.bytes) snapshot.runs.push_back(picture);
  }
  return snapshot;
}

Result<Bytes> HostEvictor::spill_coldest(Bytes bytes, const Run* newcomer) {
  Bytes total;
  for (const PageClass most : kPageClassesDescending) {
    bool full = false;
    TESSERA_TRY_ASSIGN(total, spill_coldest(bytes, newcomer, most, full));
    if (total || !full) break;
  }
  return total;
}

Result<Bytes> HostEvictor::spill_coldest(Bytes bytes, const Run* newcomer, PageClass most, bool& full) {
  Snapshot snapshot = picture(bytes, most);
  if (newcomer != nullptr) {
    std::erase_if(snapshot.runs, [&](const RunPicture& each) {
      const Run& run = *engine_.runs[each.run];
      return &run == newcomer || run.is_held() || run.is_expected();
    });
    snapshot.runs.push_back({.run = newcomer->index,
                             .bytes = newcomer->shape.bytes(),
                             .used = newcomer->last_work(),
                             .gap = newcomer->learned().gap.load(),
                             .often = often_by(newcomer->learned(), snapshot.epoch),
                             .next = engine_.tracker.next_use(newcomer->learned(), snapshot.epoch),
                             .tag = newcomer->tag});
  }
  const Decision decision = engine_.tracker.decider().decide(snapshot);
  pictures_ = std::move(snapshot.runs);
  Bytes total;
  for (std::size_t index : decision.victims) {
    Run& run = *engine_.runs[index];
    if (&run == newcomer) break;
    for (std::uint32_t i = 0; i < run.shape.pages() && total < bytes; ++i) {
      const PageRef page{&run, i};
      if (page->state != PageState::kCold || !page->host || (newcomer != nullptr && page->copy.staging)) continue;
      if (page.page_class() > most) continue;
      if (page->file) {
        moves_.copies.drop_host(page);
      } else if (run.is_dead()) {
        TESSERA_TRY(moves_.releases.discard(page));
      } else if (Status status = transfers_.starts.spill(page);
                 status.code() == Code::kOutOfMemory || status.code() == Code::kBusy) {
        full = status.code() == Code::kOutOfMemory;
        return total;
      } else if (!status.is_ok()) {
        return status;
      }
      total += page.bytes();
    }
  }
  return total;
}

}  // namespace tessera
