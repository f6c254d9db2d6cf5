// Room on the device: who leaves it, on demand, ahead of need and by a plan, and how.
//
// The policy chooses among the runs that may leave, and a plan, where one is followed, goes before it. Who leaves goes
// by pages: dead and clean ones at once, the others by a copy, some not before it is known that they have changed. A
// run that a callback remakes goes whole and without a copy.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/snapshot.hpp"
#include "residency/engine.hpp"
#include "residency/host_room.hpp"
#include "residency/page_mover.hpp"
#include "residency/transfers.hpp"

namespace tessera {

class Room {
 public:
  // For whom. Ahead of need only who is idle leaves; by plan the copy waits, not the caller.
  enum class Patience : std::uint8_t { kAhead, kPlanned, kDemand };

  Room(Engine& engine, PageMover& mover, Transfers& transfers, HostRoom& host_room)
      : engine_(engine), mover_(mover), transfers_(transfers), host_room_(host_room) {}

  // The bytes that are on their way out. Where so much is not free, what dead and idle runs hold has gone before.
  Result<Bytes> leaving_for(Bytes bytes);
  // So much is free on the device when this returns. Errors: kBusy where calls under way are in the way, which end;
  // kNotReady where work is in the way that has not ended for as long as the program is kept waiting for such; kOutOfMemory
  // where nothing else can leave.
  Status make(Bytes bytes);
  // Gives the bytes that have left or have begun to. When the tiers below have no frame for who is chosen, it may be that
  // they have none for a large page; and when they are full, those that leave without a copy still can.
  Result<Bytes> page_out(Bytes bytes, Patience patience);
  // Of runs that are dead and idle, which costs nothing.
  Result<Bytes> page_out_dead(Bytes bytes);
  // So much of the run as is wanted, by whole pages: what is used next may be the rest of it. All of it where it is to
  // be remade. Gives the bytes that have left or have begun to: none while the run may not leave. Where no plan says
  // whereto, what has a valid copy leaves it at that; the rest goes to a peer, or the host where none lends or has
  // room. What shall be in the file goes to the host and on from there.
  Result<Bytes> leave(Run& run, Bytes wanted, Patience patience, std::optional<Away> to = {}) {
    return leave(run, wanted, patience, Which::kAll, to);
  }
  // Whose time to leave by plan has come begins to leave, as far as that can be now. `awaited`: a run, the work on which
  // is about to be waited for.
  void send_due(const Run* awaited = nullptr);
  // All of it, and waits for it. Errors: kBusy for a run that is held, pinned, or used meanwhile.
  Status evict(Run& run, std::optional<Away> to = {});

 private:
  enum class Which : std::uint8_t { kAll, kIdle, kBasePages, kWithoutCopy, kDead };  // who may be chosen
  enum class Worth : std::uint8_t { kIfItPays, kAnyhow };
  // kSettled: only runs that an unannounced kernel is no longer likely to use. The others when those do not suffice.
  enum class Recency : std::uint8_t { kSettled, kAny };

  Bytes room_for(Bytes bytes);
  Status no_room(Bytes bytes) const;
  Result<Bytes> force_out(Bytes bytes);
  // Who shall leave, first to last.
  Decision choose(Bytes need, Which which, Recency recency);
  Snapshot picture(Bytes need, Which which, Recency recency);
  // How much of the run may leave, and how much of that has a valid copy or is dropped.
  static void measure(const Run& run, Which which, bool drops, RunPicture& picture);
  Result<Bytes> page_out(Bytes bytes, Patience patience, Which which, Recency recency, bool& full);
  bool carry_out(const Conductor::Order& order);
  void await_arrival(const Run& run);
  Bytes leave_by_plan(Bytes wanted, std::uint64_t than, Recency recency);
  // leave.cpp
  // Queued on the streams of a mask, up to an epoch.
  struct Work {
    std::uint64_t mask = 0, until = 0;
  };
  // Pages of a run that shall leave, by what each needs before.
  struct Parting {
    std::vector<PageRef> free_at_once, to_check, to_copy;
    bool apart = false;  // those that are copied or asked are unmapped before
  };
  Result<bool> await_work(const Run& run, Work& work);
  bool is_held_up(const Run& run, std::uint64_t stuck) const;
  Result<std::optional<Work>> close_work(const Run& run, std::uint64_t decided);
  // The memory that a copy goes to first.
  Beside first_choice(std::optional<Away> to) const;
  Result<Parting> part(Run& run, Bytes wanted, std::optional<Away> to);
  // Whether that can be done now.
  bool may_go_on(std::optional<Away> to) const;
  // `decided`: of a plan, when it decided that the run leaves; 0 = now.
  Result<Bytes> leave(Run& run, Bytes wanted, Patience patience, Which which, std::optional<Away> to,
                      std::uint64_t decided = 0);
  Status let_copies_wait(const Work& work, Beside to);
  Result<Bytes> leave_by_copy(Parting parting, const Work& work, Patience patience, Beside to);
  Result<std::size_t> copy_out(std::span<const PageRef> batch, std::uint64_t used, Patience patience, Beside to);
  Result<Bytes> peer_room(Bytes wanted);
  Result<std::size_t> copy_to_peer(std::span<const PageRef> batch, std::uint64_t used);
  Result<Bytes> swap_out(std::span<const PageRef> pages, Patience patience);
  // Rather than copying it there.
  bool may_drop(const Run& run, Worth worth, std::optional<Away> to = {}) const;
  Result<Bytes> drop(Run& run, const Work& work);
  template <class Act>
  Result<Bytes> free_behind(Run& run, const Work& work, Act act);

  Engine& engine_;
  PageMover& mover_;
  Transfers& transfers_;
  HostRoom& host_room_;
  std::uint32_t ends_seen_ = 0;       // of held uses, when room was looked for last
  std::uint64_t stuck_ = 0;           // slots of streams whose work did not end, at the last choice
  std::vector<RunPicture> pictures_;  // of the last choice: memory for the next, which is as large
};

}  // namespace tessera
