// What is done before anybody waits: what a plan wants, and what the watermarks want where there is none.
//
// The conductor says what is due (conductor.hpp); this carries it out: runs leave after their use and come back before
// the next, in the order of their need. An order that cannot be followed yet waits, one that never can is given up.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <atomic>
#include <span>

#include "residency/engine.hpp"
#include "residency/host_room.hpp"
#include "residency/page_mover.hpp"
#include "residency/room.hpp"
#include "residency/transfers.hpp"

namespace tessera {

class Follower {
 public:
  // `awaits_room`: an order waits for room, and work is queued that may make some. Somebody has to look when it is
  // over.
  Follower(Engine& engine, PageMover& mover, Transfers& transfers, HostRoom& host_room, Room& room,
           std::atomic<bool>& awaits_room)
      : engine_(engine), mover_(mover), transfers_(transfers), host_room_(host_room), room_(room),
        awaits_room_(awaits_room) {}

  // Finishes what is done, then does what is due, and pages out ahead of need.
  void advance();
  // Reads what was launched, and carries out what is due.
  void follow();
  // Pages out to the watermarks, on the device where no plan is followed, and in the host.
  void work_ahead();

  // The likes of Conductor's. Who was to leave or to come by the old plan may be needed by the new one.
  void set_policy(const Policy& policy, Planner& planner);
  void lead(Iteration iteration, const Strategy& strategy, Runs players);

  // Nobody of these comes back because of what was wanted before: neither by a prefetch nor by a plan's order.
  void call_off(Runs runs);
  // Who was to leave by a plan stays.
  void keep_all();
  // The run goes away. REQUIRES: no launch announces it any more, and follow() came after the last.
  void forget(const Run& run);

 private:
  struct Watermarks {
    Bytes low{}, high{};
  };
  Watermarks watermarks(Bytes capacity) const;
  Machine machine() const;
  void decide();
  void carry_out_orders();
  bool bring_back(Conductor::Order& order);

  Engine& engine_;
  PageMover& mover_;
  Transfers& transfers_;
  HostRoom& host_room_;
  Room& room_;
  std::atomic<bool>& awaits_room_;
};

}  // namespace tessera
