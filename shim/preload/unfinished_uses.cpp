#include "unfinished_uses.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "several_devices.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds patience() {
  static const auto given = [] {
    tessera_options* options = nullptr;
    char text[24] = "";
    if (tessera_options_create(&options) != TESSERA_OK ||
        tessera_options_get(options, "patience", text, sizeof(text)) != TESSERA_OK) {
      text[0] = '\0';
    }
    tessera_options_destroy(options);
    return std::chrono::milliseconds(std::strtoull(text, nullptr, 10));
  }();
  return given;
}

// The driver has no wait with a limit.
bool ends_within(std::chrono::milliseconds limit, CUstream stream) {
  const Clock::time_point end = Clock::now() + limit;
  auto pause = std::chrono::microseconds(1);
  while (call_true(&TrueDriver::cuStreamQuery, stream) == CUDA_ERROR_NOT_READY) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(500));
  }
  return true;
}

}  // namespace

UnfinishedUses& unfinished_uses() {
  // Never destroyed: exit handlers may still make copies.
  static UnfinishedUses& uses = *new UnfinishedUses;
  return uses;
}

bool UnfinishedUses::is_behind_another(CUstream stream) {
  end_finished();
  if (count_.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.stream == stream; });
}

bool UnfinishedUses::is_over(CUstream stream) { return !is_behind_another(stream) && ends_within(patience(), stream); }

void UnfinishedUses::end_after(CUstream stream, tessera_allocator* allocator, const tessera_use& use) {
  if (!is_over(stream)) return add({stream, nullptr, allocator, use, 0});
  tessera_use ended = use;
  const InPrimary in_primary;
  tessera_use_end(allocator, &ended);
}

void UnfinishedUses::free_after(CUstream stream, tessera_allocator* allocator, CUdeviceptr address) {
  add({stream, nullptr, allocator, {}, address});
}

// Without an event only end_all() ends it: its blocks stay.
void UnfinishedUses::add(Entry entry) {
  const InContextOf its(entry.stream);
  if (call_true(&TrueDriver::cuEventCreate, &entry.event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    entry.event = nullptr;
  } else if (call_true(&TrueDriver::cuEventRecord, entry.event, entry.stream) != CUDA_SUCCESS) {
    (void)call_true(&TrueDriver::cuEventDestroy_v2, entry.event);
    entry.event = nullptr;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_back(entry);
  count_.store(entries_.size());
}

// After an error of the event nothing is known of the work but that its context is unusable.
void UnfinishedUses::end_those_over() {
  std::vector<Entry> over;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto rest = std::partition(entries_.begin(), entries_.end(), [](const Entry& entry) {
      return entry.event == nullptr || call_true(&TrueDriver::cuEventQuery, entry.event) == CUDA_ERROR_NOT_READY;
    });
    over.assign(rest, entries_.end());
    entries_.erase(rest, entries_.end());
    count_.store(entries_.size());
  }
  const InPrimary in_primary;
  for (Entry& entry : over) {
    (void)call_true(&TrueDriver::cuEventDestroy_v2, entry.event);
    if (entry.to_free == 0) {
      tessera_use_end(entry.allocator, &entry.use);
    } else {
      (void)cuda_result_said(tessera_free(entry.allocator, entry.to_free, TESSERA_NO_STREAM), "cuMemFreeAsync");
    }
  }
}

void UnfinishedUses::end_all() {
  end_finished();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.to_free == 0) tessera_use_end(entry.allocator, &entry.use);
  }
  entries_.clear();
  count_.store(0);
}

}  // namespace tessera::preload
