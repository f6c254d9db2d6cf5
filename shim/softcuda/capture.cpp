#include "capture.hpp"

#include <algorithm>
#include <unordered_set>

#include "node_params.hpp"

namespace tessera::softcuda {
namespace {

thread_local CUstreamCaptureMode mode_of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;

// All nodes that must have run once these have.
std::unordered_set<const GraphNode*> reached_from(std::vector<GraphNode*> nodes) {
  std::unordered_set<const GraphNode*> reached;
  while (!nodes.empty()) {
    const GraphNode* const node = nodes.back();
    nodes.pop_back();
    if (!reached.insert(node).second) continue;
    nodes.insert(nodes.end(), node->after.begin(), node->after.end());
  }
  return reached;
}

bool all_joined(const Capture& capture) {
  const auto reached = reached_from(capture.tips.at(capture.origin));
  const auto joined = [&](const std::vector<GraphNode*>& tips) {
    return std::all_of(tips.begin(), tips.end(), [&](const GraphNode* tip) { return reached.contains(tip); });
  };
  return joined(capture.left) && std::all_of(capture.tips.begin(), capture.tips.end(),
                                             [&](const auto& stream) { return joined(stream.second); });
}

// CUDA 13.3's CUDA_ERROR_GRAPH_RECAPTURE_FAILURE.
constexpr auto kRecaptureFailure = static_cast<CUresult>(918);

// Whether all nodes of a recaptured graph were captured again.
bool is_whole(const Capture& capture) { return !capture.again || capture.next == capture.graph->nodes.size(); }

bool same_nodes(std::vector<GraphNode*> some, std::vector<GraphNode*> others) {
  std::sort(some.begin(), some.end());
  std::sort(others.begin(), others.end());
  return some == others;
}

// Whether this capture forbids the calling thread the calls that check_safe() guards.
bool forbids(const Capture& capture) {
  if (mode_of_thread == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return mode_of_thread == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

}  // namespace

CUstreamCaptureMode Captures::exchange_mode(CUstreamCaptureMode mode) { return std::exchange(mode_of_thread, mode); }

StreamKey Captures::key_of(StreamId stream) {
  return {stream, stream == kPerThreadStream ? std::this_thread::get_id() : std::thread::id()};
}

Capture* Captures::of(const StreamKey& key) {
  for (const auto& capture : captures_) {
    if (capture->tips.contains(key)) return capture.get();
  }
  return nullptr;
}

CUresult Captures::begin(StreamId stream, Graph* into, std::span<GraphNode* const> after, CUstreamCaptureMode mode,
                         std::optional<Recapture> again) {
  if (stream == kLegacyStream) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const MutexLock lock(mutex_);
  const StreamKey key = key_of(stream);
  if (of(key) != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_unique<Capture>();
  capture->id = ++last_id_;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = key;
  capture->own_graph = into == nullptr;
  capture->graph = into != nullptr ? into : graphs_.add(std::make_shared<Graph>());
  capture->again = again;
  capture->tips[key].assign(after.begin(), after.end());
  captures_.push_back(std::move(capture));
  ++active_;
  return CUDA_SUCCESS;
}

CUresult Captures::end(StreamId stream, Graph*& graph) {
  const MutexLock lock(mutex_);
  const StreamKey key = key_of(stream);
  Capture* const capture = of(key);
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != key) {
    capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  const bool here = capture->thread == std::this_thread::get_id();
  if (!here && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const CUresult result = !capture->valid         ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                          : !is_whole(*capture)   ? kRecaptureFailure
                          : !all_joined(*capture) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                                  : CUDA_SUCCESS;
  graph = result == CUDA_SUCCESS ? capture->graph : nullptr;
  if (graph == nullptr && capture->own_graph) graphs_.destroy(capture->graph);
  finish(*capture);
  return result;
}

// Its events remain marked as captured, but no longer refer to nodes.
void Captures::finish(const Capture& capture) {
  for (auto& [event, captured] : events_) {
    if (captured.capture == capture.id) captured.tips.clear();
  }
  std::erase_if(captures_, [&](const auto& each) { return each.get() == &capture; });
  --active_;
}

std::optional<CUresult> Captures::add(StreamId stream, const std::function<Work()>& make) {
  const MutexLock lock(mutex_);
  if (const CUresult implied = check_legacy(stream); implied != CUDA_SUCCESS) return implied;
  const StreamKey key = key_of(stream);
  Capture* const capture = of(key);
  if (capture == nullptr) return std::nullopt;
  if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<GraphNode*>& tips = capture->tips[key];
  if (capture->again) return renew(*capture, make(), tips);
  tips = {graphs_.add(*capture->graph, make(), tips)};
  return CUDA_SUCCESS;
}

// Parameters are not compared: the program's callback is called for every node.
CUresult Captures::renew(Capture& capture, Work work, std::vector<GraphNode*>& tips) {
  capture.valid = false;
  if (is_whole(capture)) return kRecaptureFailure;
  GraphNode& node = *capture.graph->nodes[capture.next];
  if (node.work.index() != work.index() || !same_nodes(node.after, tips)) return kRecaptureFailure;
  if (capture.again->differs != nullptr) {
    GraphNode other;
    other.work = work;
    CUgraphNodeParams before, now;
    const bool told = params_of(node, before) == CUDA_SUCCESS && params_of(other, now) == CUDA_SUCCESS;
    const auto [differs, data] = *capture.again;
    if (!told ||
        differs(data, handle_of(&node), &before, &now, CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE) != CUDA_SUCCESS) {
      return kRecaptureFailure;
    }
  }
  graphs_.set(node, std::move(work));
  capture.valid = true;
  ++capture.next;
  tips = {&node};
  return CUDA_SUCCESS;
}

std::optional<CUresult> Captures::record(StreamId stream, CUevent event) {
  if (!any()) return std::nullopt;
  const MutexLock lock(mutex_);
  if (const CUresult implied = check_legacy(stream); implied != CUDA_SUCCESS) return implied;
  Capture* const capture = of(key_of(stream));
  if (capture == nullptr) {
    active_ -= static_cast<int>(events_.erase(event));
    return std::nullopt;
  }
  if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  const auto [place, added] =
      events_.insert_or_assign(event, CapturedEvent{capture->id, capture->tips[key_of(stream)]});
  (void)place;
  if (added) ++active_;
  return CUDA_SUCCESS;
}

std::optional<CUresult> Captures::wait(StreamId stream, CUevent event) {
  if (!any()) return std::nullopt;
  const MutexLock lock(mutex_);
  if (const CUresult implied = check_legacy(stream); implied != CUDA_SUCCESS) return implied;
  if (const auto captured = events_.find(event); captured != events_.end()) {
    return join(stream, captured->second);
  }
  Capture* const capture = of(key_of(stream));
  if (capture == nullptr) return std::nullopt;
  capture->valid = false;
  return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

CUresult Captures::join(StreamId stream, const CapturedEvent& event) {
  const auto source = std::find_if(captures_.begin(), captures_.end(),
                                   [&](const auto& capture) { return capture->id == event.capture; });
  if (source == captures_.end()) return CUDA_ERROR_CAPTURED_EVENT;
  if (stream == kLegacyStream) {
    (*source)->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  Capture* const present = of(key_of(stream));
  if (present != nullptr && present != source->get()) {
    present->valid = (*source)->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!(*source)->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<GraphNode*>& tips = (*source)->tips[key_of(stream)];
  for (GraphNode* tip : event.tips) {
    if (std::find(tips.begin(), tips.end(), tip) == tips.end()) tips.push_back(tip);
  }
  return CUDA_SUCCESS;
}

// The legacy stream waits for all blocking streams, and a capturing stream never finishes.
CUresult Captures::check_legacy(StreamId stream) {
  if (stream != kLegacyStream) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : captures_) {
    for (const auto& [key, tips] : capture->tips) {
      const auto info = streams_.find(handle_of(key.first));
      if (info && (info->flags & CU_STREAM_NON_BLOCKING) != 0) continue;
      capture->valid = false;
      result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  return result;
}

CUresult Captures::refuse_wait(StreamId stream) {
  return look_at(stream, [](Capture& capture, auto&) {
    capture.valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  });
}

CUresult Captures::refuse_wait_for_all() {
  if (!any()) return CUDA_SUCCESS;
  const MutexLock lock(mutex_);
  for (const auto& capture : captures_) capture->valid = false;
  return captures_.empty() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult Captures::refuse_captured(CUevent event) {
  if (!any()) return CUDA_SUCCESS;
  const MutexLock lock(mutex_);
  return events_.contains(event) ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult Captures::check_safe() {
  if (!any()) return CUDA_SUCCESS;
  const MutexLock lock(mutex_);
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : captures_) {
    if (!forbids(*capture)) continue;
    capture->valid = false;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

void Captures::drop(StreamId stream) {
  if (!any()) return;
  const MutexLock lock(mutex_);
  const StreamKey key = key_of(stream);
  Capture* const capture = of(key);
  if (capture == nullptr) return;
  // The work captured on the stream remains, and has to be joined as before.
  if (capture->origin != key) {
    const std::vector<GraphNode*>& tips = capture->tips[key];
    capture->left.insert(capture->left.end(), tips.begin(), tips.end());
    capture->tips.erase(key);
    return;
  }
  if (capture->own_graph) graphs_.destroy(capture->graph);
  finish(*capture);
}

void Captures::drop(CUevent event) {
  if (!any()) return;
  const MutexLock lock(mutex_);
  active_ -= static_cast<int>(events_.erase(event));
}

}  // namespace tessera::softcuda
