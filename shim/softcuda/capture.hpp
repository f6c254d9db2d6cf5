// Stream capture: work queued on a stream becomes graph nodes instead.
//
// A capture begins on one stream and spreads to others that wait for an event recorded in it. Each of its streams has
// tips: the nodes that the stream's next node depends on. Calls that are illegal during a capture fail with CUDA's
// error and invalidate the capture, as on a GPU.
//
// Thread safety: every call may be made from any thread. Without an active capture, a query costs one load.
//
// Invariants: a stream is part of at most one capture; a capture's origin is always among its streams.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "graphs.hpp"
#include "streams.hpp"

namespace tessera::softcuda {

// A stream; the thread id distinguishes per-thread default streams.
using StreamKey = std::pair<StreamId, std::thread::id>;

// The program's callback for a recaptured node that differs from the previous one.
struct Recapture {
  CUgraphRecaptureCallback differs = nullptr;
  void* data = nullptr;
};

struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  // that began it
  StreamKey origin;
  Graph* graph = nullptr;
  bool own_graph = true;  // false: the program supplied the graph
  bool valid = true;
  std::map<StreamKey, std::vector<GraphNode*>> tips;
  std::vector<GraphNode*> left;         // tips of streams that were destroyed
  std::optional<Recapture> again;       // captures into existing nodes
  std::size_t next = 0;                 // index among these nodes
  std::vector<CUgraphNode> told_nodes;  // arrays returned to a program that queries the capture
  std::vector<CUgraphEdgeData> told_edges;
};

class Captures {
 public:
  Captures(Streams& streams, Graphs& graphs) : streams_(streams), graphs_(graphs) {}

  // Captures into `into`, or into a new graph if null; with `again`, into the existing nodes of `into`, which must be
  // captured in creation order. Errors: CUDA_ERROR_ILLEGAL_STATE if the stream is being captured already.
  CUresult begin(StreamId stream, Graph* into, std::span<GraphNode* const> after, CUstreamCaptureMode mode,
                 std::optional<Recapture> again = std::nullopt);
  // Returns the complete graph. After any error except UNMATCHED and WRONG_THREAD the capture has ended too.
  CUresult end(StreamId stream, Graph*& graph);

  // The result of capturing an operation on `stream`, made by `make()`; nothing if it has to be queued instead.
  template <class Make>
  std::optional<CUresult> capture(StreamId stream, Make make) {
    if (!any()) return std::nullopt;
    return add(stream, make);
  }
  // The same for events. An event recorded in a capture stands for the stream's tips at that point.
  std::optional<CUresult> record(StreamId stream, CUevent event);
  std::optional<CUresult> wait(StreamId stream, CUevent event);

  // For calls that wait for or query a stream, and for operations that no graph can contain.
  CUresult refuse_wait(StreamId stream);
  // The same for all streams of a device.
  CUresult refuse_wait_for_all();
  // For calls about an event: CUDA_ERROR_CAPTURED_EVENT when it was last recorded in a capture.
  CUresult refuse_captured(CUevent event);
  // For calls that may wait for other work, such as an allocation: depends on the modes of thread and capture.
  CUresult check_safe();

  // Calls look(capture) if the stream is part of one. Errors: as for using the legacy stream.
  template <class Look>
  CUresult look_at(StreamId stream, Look look) {
    if (!any()) return CUDA_SUCCESS;
    const MutexLock lock(mutex_);
    if (const CUresult implied = check_legacy(stream); implied != CUDA_SUCCESS) return implied;
    Capture* const found = of(key_of(stream));
    return found != nullptr ? look(*found, found->tips[key_of(stream)]) : CUDA_SUCCESS;
  }
  // The stream or the event is destroyed.
  void drop(StreamId stream);
  void drop(CUevent event);

  static CUstreamCaptureMode exchange_mode(CUstreamCaptureMode mode);
  static StreamKey key_of(StreamId stream);

 private:
  struct CapturedEvent {
    std::uint64_t capture;
    std::vector<GraphNode*> tips;
  };

  bool any() const { return active_.load(std::memory_order_acquire) != 0; }
  std::optional<CUresult> add(StreamId stream, const std::function<Work()>& make);
  CUresult renew(Capture& capture, Work work, std::vector<GraphNode*>& tips) REQUIRES_LOCK(mutex_);
  Capture* of(const StreamKey& key) REQUIRES_LOCK(mutex_);
  CUresult check_legacy(StreamId stream) REQUIRES_LOCK(mutex_);
  CUresult join(StreamId stream, const CapturedEvent& event) REQUIRES_LOCK(mutex_);
  void finish(const Capture& capture) REQUIRES_LOCK(mutex_);

  Streams& streams_;
  Graphs& graphs_;
  std::atomic<int> active_{0};  // active captures, and events recorded in one
  Mutex mutex_{LockRank::kApi};
  std::uint64_t last_id_ GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<Capture>> captures_ GUARDED_BY(mutex_);
  std::map<CUevent, CapturedEvent> events_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
