// Bytes that are not copied when they leave, because a callback of the program's can make them again.
//
// A callback stands for the bytes of one run as they are when it is set. It is a copy in a tier that
// costs no memory: the next announced write ends it, as it ends a copy, and so does the end of the
// block. It remakes all of the run at once, so the run is dropped whole or not at all.
//
// It is called by the thread whose call needs the run, with no lock of ours held and outside of the gate,
// while the run's frames are mapped and stay. It queues on the stream that it is given, and may announce
// uses of other runs as any work does: they come, or are remade themselves. Of one device one thread
// remakes at a time (RemakeTurn); a second waits before it holds anything, so that the first can wait for
// all that others hold.
//
// Source: recomputation as a way to leave, Capuchin and SuperNeurons (papers.md); that a block names its own
// remedy is issue 4's.
//
// Thread safety: values; the turn under the engine's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct Run;

struct Remake {
  // Queues work on the stream that writes all bytes of the block. After an error what was queued is
  // waited for, and the call that needs the block returns the error; the next one tries again.
  std::function<Status(StreamId)> work;
  Nanoseconds cost;           // how long that work takes; at least 1
  std::uint64_t written = 0;  // Run::written when it was set, and
  std::uint64_t life = 0;     // Run::life(): both by the engine
};

// Whose calls may remake now. A thread that has the turn may take it again, inside a callback.
class RemakeTurn {
 public:
  // Another thread has it, and one of these needs it.
  bool keeps_waiting(std::span<Run* const> runs) const;
  // For room, or for the turn, that others will let go: inside a callback, too, where the turn is this
  // thread's, since they hold nothing while they wait for it.
  bool may_wait() const;
  // Taken if one of these has only its callback to come.
  bool take_for(std::span<Run* const> runs);
  bool is_mine() const { return depth_ != 0 && !is_others(); }
  void take();
  void give_back() { --depth_; }
  // Calls of the thread that has the turn which hold runs and wait for a callback of theirs.
  std::uint32_t depth() const { return depth_; }

 private:
  bool is_others() const;

  std::uint64_t thread_ = 0;
  std::uint32_t depth_ = 0;
};

// The calling thread is inside a callback, of whichever engine.
bool is_inside_callback();

}  // namespace tessera
