// What the program waits for itself: when such a call has returned, that work is over, and no fence of ours is needed
// to know it. A fence that is recorded later may stand behind a kernel that waits for the program.
//
// An event stands for its last record. Which one that is is known as long as every record is seen: not of events that
// processes share, or that nodes of graphs record; from the first of these on events tell nothing.
//
// Thread safety: any thread.
// Bounds: of kPlaces events the last record is known; one without a place tells nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

// The work that is queued when this is made, in the current context if blocks are used in that.
class QueuedWork {
 public:
  QueuedWork();

  // The program has waited for it, as far as it was queued on that stream, or on all streams of the context.
  void is_over(CUstream stream) const;
  void is_all_over() const { note(TESSERA_NO_STREAM); }

 private:
  void note(tessera_stream stream) const;

  tessera_allocator* allocator_ = nullptr;
  CUdevice device_ = -1;
  std::uint64_t before_ = 0;  // 0: nothing is known of it
};

class ProgramEvents {
 public:
  struct Record {
    QueuedWork work;
    CUstream stream;
    std::uint64_t turn;  // of its place
  };

  // A record begins: what was known of the event no longer holds. Gives what end_record takes.
  std::uint64_t begin_record(CUevent event);
  // REQUIRES: after each begin_record. Of records at the same time none is known.
  void end_record(CUevent event, std::uint64_t turn, const std::optional<QueuedWork>& work, CUstream stream);
  // The last record, where it is known.
  std::optional<Record> find(CUevent event);
  // Whether it is the last one still, when a call about the event has returned.
  bool is_last(CUevent event, const Record& record);
  // The program destroys it.
  void forget(CUevent event) { end_record(event, begin_record(event), std::nullopt, nullptr); }
  // There are records that are not seen.
  void tell_nothing() { blind_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kPlaces = 512;

  struct Place {
    CUevent event;
    std::uint64_t turn;  // grows with every record
    std::uint32_t under_way;
    std::optional<Record> last;
  };

  static std::size_t place_of(CUevent event) {
    const auto handle = reinterpret_cast<std::uintptr_t>(event);
    return (handle >> 4 ^ handle >> 13) % kPlaces;
  }
  Place& at(CUevent event) { return places()[place_of(event)]; }
  static Place* places();

  std::mutex mutex_;
  std::atomic<bool> blind_{false};
};

// The process's one.
ProgramEvents& program_events();

}  // namespace tessera::preload
