#include "residency/eviction/device_evictor.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace tessera {
namespace {

// After this many rounds in which victims were used again, victims are blocked from use.
constexpr int kPoliteRounds = 4;
constexpr int kMaxRounds = 64;

// Resident bytes in pages up to this class: these are the last of a run's pages and are evicted first.
Bytes small_pages_of(const Run& run, PageClass most) {
  Bytes bytes;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    if (run.pages[i].state == PageState::kResident && run.shape.page_class(i) <= most) {
      bytes += page_bytes(run.shape.page_class(i));
    }
  }
  return bytes;
}

}  // namespace

// Why there is no room: calls in progress, which will end, or a permanent reason. A call that let go during the search
// for room also counts as one.
Status DeviceEvictor::no_room(Bytes bytes) const {
  const std::uint32_t own = engine_.turn.is_mine() ? engine_.turn.depth() : 0;
  if (engine_.held_uses.count() > own || engine_.held_uses.ends() != ends_seen_) {
    return Status(Code::kBusy, "calls in progress use device memory");
  }
  if (victims_.stuck() != 0) {
    return Status(Code::kNotReady,
                  fmt::format("{} MiB of device memory are needed, and everything evictable is, or may be, "
                              "in use by work that makes no progress: a kernel may be waiting for the program",
                              bytes / 1_MiB));
  }
  const TierUsage host = engine_.tiers.host_usage();
  const TierUsage peer = engine_.tiers.peer == nullptr ? TierUsage() : engine_.tiers.peer->usage();
  const std::string lent =
      peer.capacity ? fmt::format("peer {} of {} MiB used, ", peer.used / 1_MiB, peer.capacity / 1_MiB) : std::string();
  return Status(
      Code::kOutOfMemory,
      fmt::format("{} MiB of device memory are needed, {} MiB are free, and nothing "
                  "else can be evicted: {}host {} of {} MiB used, file {} of {} MiB used",
                  bytes / 1_MiB, engine_.tiers.device.room() / 1_MiB, lent, host.used / 1_MiB, host.capacity / 1_MiB,
                  engine_.tiers.file.usage().used / 1_MiB, engine_.tiers.file.usage().capacity / 1_MiB));
}

// If that is not enough, checks whether the driver has memory again that others had used.
Bytes DeviceEvictor::room_for(Bytes bytes) {
  const Bytes room = engine_.tiers.device.room();
  if (room >= bytes) return room;
  engine_.tiers.device.regain(DeviceTier::Ask::kWhenDue);
  return engine_.tiers.device.room();
}

// The awaited transfers may be queued behind work that does not end. Runs that need no copy can then still make room.
Status DeviceEvictor::await(Transfers::Await await, Bytes bytes) {
  const Bytes before = engine_.tiers.device.room();
  const Status awaited = transfers_.ends.finish(await, bytes);
  if (awaited.code() != Code::kNotReady) return awaited;
  bool full = false;
  TESSERA_TRY(page_out(bytes, Patience::kDemand, Which::kWithoutCopy, Recency::kAny, PageClass::kLarge, full).status());
  return engine_.tiers.device.room() > before ? Status() : awaited;
}

Status DeviceEvictor::make_room(Bytes bytes) {
  ends_seen_ = engine_.held_uses.ends();
  TESSERA_TRY(transfers_.ends.finish(Transfers::Await::kNone));
  Bytes room = room_for(bytes);
  for (int round = 0; room < bytes;) {
    if (round == kMaxRounds) return no_room(bytes);
    Bytes leaving;
    TESSERA_TRY_ASSIGN(leaving, evicting_for(bytes));
    room = engine_.tiers.device.room();
    if (room >= bytes) break;
    if (room + leaving < bytes) {
      const bool by_force = round >= kPoliteRounds && !leaving;
      Bytes out;
      TESSERA_TRY_ASSIGN(out, by_force ? force_out(bytes - room) : page_out(bytes - room - leaving, Patience::kDemand));
      if (out || leaving) {
        ++round;
      } else if (transfers_.any()) {  // what is being fetched can be evicted again
        TESSERA_TRY(await(Transfers::Await::kOldest, bytes - room));
      } else if (engine_.waits.stuck() != victims_.stuck()) {
        ++round;  // other runs may be evicted than those waited for
      } else if (engine_.tiers.device.room() == room) {
        return no_room(bytes);
      }
    }
    if (const Bytes there = engine_.tiers.device.room(); there < bytes && moves_.ledger.evicting_bytes()) {
      TESSERA_TRY(await(Transfers::Await::kEvicting, bytes - there));
    }
    if (engine_.tiers.device.room() > room) round = 0;  // progress
    room = engine_.tiers.device.room();
  }
  return {};
}

// Dead and idle runs are evicted first: they are freed at once, without a copy.
Result<Bytes> DeviceEvictor::evicting_for(Bytes bytes) {
  const Bytes room = room_for(bytes);
  if (moves_.ledger.evicting_bytes() && room < bytes) TESSERA_TRY(page_out_dead(bytes - room).status());
  return moves_.ledger.evicting_bytes();
}

Result<Bytes> DeviceEvictor::page_out(Bytes bytes, Patience patience) {
  TESSERA_TRY(engine_.fence_all());
  TESSERA_TRY(engine_.streams.poll());
  Bytes total;
  {
    // New frames get their second mappings for all victims before the first copy begins, which these would wait for.
    const PartedEvictions::Held held(transfers_.parted);
    for (const Recency recency : {Recency::kSettled, Recency::kAny}) {
      // Without unannounced work every run is settled: one pass is enough.
      if (recency == Recency::kAny && (patience != Patience::kDemand || !engine_.unseen.load())) break;
      Bytes more;
      TESSERA_TRY_ASSIGN(more, page_out(bytes - total, patience, recency));
      total += more;
      if (total >= bytes) break;
    }
  }
  TESSERA_TRY(transfers_.parted.go_apart());
  return total;
}

// Where the tiers below are short of frames, on demand, smaller pages are evicted, and then what needs no copy.
Result<Bytes> DeviceEvictor::page_out(Bytes bytes, Patience patience, Recency recency) {
  const Which which = patience == Patience::kAhead ? Which::kIdle : Which::kAll;
  Bytes total, more;
  bool full = false;
  for (const PageClass most : kPageClassesDescending) {
    TESSERA_TRY_ASSIGN(more, page_out(bytes - total, patience, which, recency, most, full));
    total += more;
    if (total >= bytes || !full) return total;
    if (patience != Patience::kDemand) break;
  }
  TESSERA_TRY_ASSIGN(more, page_out(bytes - total, patience, Which::kWithoutCopy, recency, PageClass::kLarge, full));
  total += more;
  return total;
}

Result<Bytes> DeviceEvictor::page_out_dead(Bytes bytes) {
  bool full = false;
  return page_out(bytes, Patience::kAhead, Which::kDead, Recency::kAny, PageClass::kLarge, full);
}

// The copies of the other runs are queued before any wait for work on dead runs.
Result<Bytes> DeviceEvictor::page_out(Bytes bytes, Patience patience, Which which, Recency recency, PageClass most,
                                      bool& full) {
  full = false;
  const bool many = patience == Patience::kDemand && which == Which::kAll && most == PageClass::kLarge;
  const auto [decision, ahead] =
      many ? victims_.choose_many(bytes, recency) : VictimChoice::Choice{victims_.choose(bytes, which, recency, most)};
  const std::span<const std::size_t> victims = decision.victims;
  std::vector<Run*> later;
  Bytes total, promised;
  std::size_t next = 0;
  for (; next < victims.size() && total + promised < bytes; ++next) {
    Run& run = *engine_.runs[victims[next]];
    const bool dead = run.is_dead(), idle = engine_.streams.passed(run.users(), run.last_work());
    const bool strict = engine_.tracker.is_strict() && !(dead && idle);
    if (patience == Patience::kDemand && (strict || !dead)) {
      total += planned_.evict_for(bytes - total - promised, strict ? 0 : run.learned().uses.next, recency);
      if (total + promised >= bytes) break;
    }
    if (dead && !idle) {
      later.push_back(&run);
      promised += run.bytes_in(PageState::kResident);
      continue;
    }
    const Bytes wanted = bytes - total - promised;
    const Bytes part = most == PageClass::kLarge ? wanted : std::min(wanted, small_pages_of(run, most));
    Result<Bytes> left = eviction_.start(run, part, patience, which);
    full = !left.is_ok() && left.status().code() == Code::kOutOfMemory;
    if (full) break;
    if (!left.is_ok()) return left.status();
    total += left.value();
  }
  for (Run* const run : later) {
    if (total >= bytes) break;
    if (patience == Patience::kDemand) planned_.start_due(run);
    Bytes left;
    TESSERA_TRY_ASSIGN(left, eviction_.start(*run, bytes - total, patience, which));
    total += left;
  }
  if (full || !ahead || total < bytes) return total;
  Bytes more;
  TESSERA_TRY_ASSIGN(more, page_out_ahead(victims.subspan(next), ahead));
  return total + more;
}

// The need is met, so a tier that is full is no error.
Result<Bytes> DeviceEvictor::page_out_ahead(std::span<const std::size_t> victims, Bytes bytes) {
  Bytes total;
  for (const std::size_t index : victims) {
    if (total >= bytes) break;
    Run& run = *engine_.runs[index];
    if (run.is_expected()) continue;
    const Result<Bytes> left = eviction_.start(run, bytes - total, Patience::kAhead, Which::kIdle);
    if (left.status().code() == Code::kOutOfMemory) break;
    if (!left.is_ok()) return left.status();
    total += left.value();
  }
  return total;
}

// The next users of the victims wait for the lock held here, because an extra page is counted as missing until the
// pages are gone.
Result<Bytes> DeviceEvictor::force_out(Bytes bytes) {
  TESSERA_TRY(engine_.fence_all());
  TESSERA_TRY(engine_.streams.poll());
  const Decision decision = victims_.choose(bytes, Which::kAll, Recency::kAny);
  Bytes out;
  for (std::size_t index : decision.victims) {
    Run& run = *engine_.runs[index];
    run.add_missing();
    const Result<Bytes> left = eviction_.start(run, bytes, Patience::kDemand);
    Status status = left.status();
    while (status.is_ok() && run.evicting_bytes()) {
      status = transfers_.ends.finish(Transfers::Await::kEvicting, run.evicting_bytes());
    }
    run.drop_missing();
    TESSERA_TRY(status);
    out += left.value();
  }
  return out;
}

}  // namespace tessera
