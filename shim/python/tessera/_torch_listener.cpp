// Tells Tessera which part of a segment of PyTorch's own allocator is which tensor (tessera/torch_listener.h).
//
// Compiled by _torch_listener.py, on the machine that it runs on, with the headers of PyTorch 2.2 or newer. PyTorch
// calls the tracker with its lock of the device held, so nothing here may call PyTorch back or wait for a thread that
// could.
//
// What PyTorch frees is not used any more, but for memory of graphs: a graph that is launched again uses what was
// allocated and freed during its capture. So a segment that is allocated from during a capture is kept whole.
//
// Thread safety: tessera_torch_listen() once; the rest any thread.
#include <c10/cuda/CUDACachingAllocator.h>
#include <tessera/torch_listener.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace {

namespace torch_allocator = c10::cuda::CUDACachingAllocator;
using Entry = torch_allocator::TraceEntry;

class Listener {
 public:
  explicit Listener(const tessera_torch_calls& calls) : calls_(calls) {}

  // What is allocated already is read from a snapshot. Until all of it is known, what happens meanwhile waits here: an
  // address in none of the known tensors would mean too little.
  void attach() {
    torch_allocator::attachAllocatorTraceTracker([this](const Entry& entry) { note(entry); });
    const torch_allocator::SnapshotInfo before = torch_allocator::snapshot();  // not under the lock: it takes PyTorch's
    const std::lock_guard<std::mutex> lock(lock_);
    if (state_.load() == State::kIgnores) return;
    for (const auto& segment : before.segments) add_segment(segment);
    for (const Change& change : waiting_) follow(change);
    std::vector<tessera_range> all;
    for (const auto& [address, bytes] : tensors_) all.push_back({address, bytes});
    for (const std::uint64_t address : whole_) calls_.keep_whole(address);
    if (!all.empty()) calls_.add(all.data(), all.size());
    tensors_.clear();
    waiting_ = {};
    state_.store(State::kPasses, std::memory_order_release);
  }

  // PyTorch goes on calling.
  void ignore_all() noexcept {
    const std::lock_guard<std::mutex> lock(lock_);
    state_.store(State::kIgnores);
    waiting_ = {};
  }

 private:
  enum class State { kCollects, kPasses, kIgnores };
  struct Change {
    bool is_end;
    bool in_graph;
    std::uint64_t address, bytes;
  };

  void note(const Entry& entry) noexcept {
    const bool is_end = entry.action_ == Entry::FREE_COMPLETED;
    if (!is_end && entry.action_ != Entry::ALLOC) return;
    const State state = state_.load(std::memory_order_acquire);
    if (state == State::kIgnores) return;
    const bool in_graph =
        !is_end && calls_.is_captured((void*)entry.stream_) != 0;  // a pointer to void in new versions
    const Change change{is_end, in_graph, static_cast<std::uint64_t>(entry.addr_),
                        static_cast<std::uint64_t>(entry.size_)};
    if (state == State::kPasses || !wait(change)) pass(change);
  }

  // Whether it is left to attach(), or nothing is done any more because there is no memory for it.
  bool wait(const Change& change) noexcept {
    const std::lock_guard<std::mutex> lock(lock_);
    if (state_.load(std::memory_order_relaxed) != State::kCollects) return false;
    try {
      waiting_.push_back(change);
    } catch (const std::exception&) {
      state_.store(State::kIgnores);
    }
    return true;
  }

  void pass(const Change& change) const noexcept {
    if (change.is_end) {
      calls_.remove(change.address);
    } else if (change.in_graph) {
      calls_.keep_whole(change.address);
    } else {
      const tessera_range tensor{change.address, change.bytes};
      calls_.add(&tensor, 1);
    }
  }

  // Blocks follow each other in it. One that is freed but still used on another stream is active. A private pool may be
  // that of a graph that has been captured.
  template <class Segment>
  void add_segment(const Segment& segment) {
    std::uint64_t address = static_cast<std::uint64_t>(segment.address);
    if (segment.owner_private_pool_id.first != 0 || segment.owner_private_pool_id.second != 0) {
      whole_.push_back(address);
    }
    for (const auto& block : segment.blocks) {
      const auto bytes = static_cast<std::uint64_t>(block.size);
      if (block.active || block.allocated) tensors_[address] = bytes;
      address += bytes;
    }
  }

  void follow(const Change& change) {
    if (change.is_end) {
      tensors_.erase(change.address);
    } else if (change.in_graph) {
      whole_.push_back(change.address);
    } else {
      tensors_[change.address] = change.bytes;
    }
  }

  const tessera_torch_calls calls_;
  std::atomic<State> state_{State::kCollects};
  std::mutex lock_;
  std::vector<Change> waiting_;                     // guarded by lock_, as is the rest
  std::map<std::uint64_t, std::uint64_t> tensors_;  // address and bytes, until it is attached
  std::vector<std::uint64_t> whole_;
};

}  // namespace

// The listener is never destroyed: PyTorch calls it until the process ends.
extern "C" __attribute__((visibility("default"))) tessera_torch_attached tessera_torch_listen(
    const tessera_torch_calls* calls) {
  if (calls == nullptr || calls->interface != TESSERA_TORCH_LISTENER_INTERFACE) return TESSERA_TORCH_OTHER_INTERFACE;
  Listener* listener = nullptr;
  try {
    if (!torch_allocator::get()->initialized()) return TESSERA_TORCH_TOO_EARLY;
    listener = new Listener(*calls);
    listener->attach();
    return TESSERA_TORCH_ATTACHED;
  } catch (const std::exception&) {
    if (listener != nullptr) listener->ignore_all();
    return TESSERA_TORCH_OTHER_ALLOCATOR;
  }
}
