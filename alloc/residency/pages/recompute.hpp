// Bytes that are not copied at eviction because a callback of the program can recompute them.
//
// A callback represents the bytes of one run at the time it is set. It acts like a copy in a tier that costs no memory:
// the next announced write invalidates it, as it does a copy, and so does the end of the block. It recomputes all of
// the run at once, so the run is dropped whole or not at all.
//
// It is called by the thread that needs the run, without any lock of ours and outside of the gate, while the run's
// frames are mapped and stay. It queues on the stream that it is given, and may announce uses of other runs like any
// work: they are fetched, or recomputed in turn. One thread per device recomputes at a time (RecomputeTurn); another
// waits before it holds anything, so that the first can wait for everything that others hold.
//
// Sources: recomputation instead of a copy is from SuperNeurons (Wang et al., PPoPP 2018) and Capuchin (Peng et al.,
// ASPLOS 2020).
//
// Thread safety: values; the turn under the engine's lock.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/epoch.hpp"
#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct Run;

struct Recompute {
  // Queues work on the stream that writes all bytes of the block. After an error the work queued so far is waited for,
  // and the call that needs the block returns the error; the next call tries again.
  std::function<Status(StreamId)> work;
  Nanoseconds cost;        // how long that work takes; at least 1
  Epoch written{};         // Run::written when it was set,
  std::uint64_t life = 0;  // and Run::life(): both set by the engine
};

// Which thread's calls may recompute now. A thread that has the turn may take it again inside a callback.
class RecomputeTurn {
 public:
  // Another thread has the turn, and one of these runs needs it.
  bool keeps_waiting(std::span<Run* const> runs) const;
  // Whether the thread may wait for others to free room or the turn. Also true inside a callback if the turn is this
  // thread's, since the others hold nothing while they wait for the turn.
  bool may_wait() const;
  // Takes the turn if one of these runs waits only for its callback.
  bool take_for(std::span<Run* const> runs);
  bool is_mine() const { return depth_ != 0 && !is_others(); }
  void take();
  void give_back() { --depth_; }
  // Nesting depth of the thread that has the turn: calls that hold runs and wait for a callback.
  std::uint32_t depth() const { return depth_; }

 private:
  bool is_others() const;

  std::uint64_t thread_ = 0;
  std::uint32_t depth_ = 0;
};

// The calling thread is inside a callback while this exists.
class InsideCallback {
 public:
  InsideCallback();
  ~InsideCallback();
  InsideCallback(const InsideCallback&) = delete;
  InsideCallback& operator=(const InsideCallback&) = delete;
};

// Whether the calling thread is inside a callback, of any engine.
bool is_inside_callback();

}  // namespace tessera
