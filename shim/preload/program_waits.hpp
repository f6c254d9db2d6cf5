// What the program waits for itself: when such a call has returned, that work is over, and no fence of ours is needed
// to know it. A fence recorded later may be queued behind a kernel that waits for the program.
//
// An event stands for its last record. The last record is known as long as every record is seen. Events shared between
// processes or recorded by graph nodes are not; from the first of these on, waits on events are ignored.
//
// Thread safety: any thread.
// Bounds: the last record is known for kPlaces events; an event without a place is ignored.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

// The work queued when this object is made, in the current context if blocks are used in it.
class QueuedWork {
 public:
  QueuedWork();

  // The program has waited for the part of it queued on that stream, or on all streams of the context.
  void is_over(CUstream stream) const;
  void is_all_over() const { note(TESSERA_NO_STREAM); }

 private:
  void note(tessera_stream stream) const;

  tessera_allocator* allocator_ = nullptr;
  CUdevice device_ = -1;
  std::uint64_t before_ = 0;  // 0: unknown
};

class ProgramEvents {
 public:
  struct Record {
    QueuedWork work;
    CUstream stream;
    std::uint64_t turn;  // of its place
  };

  // A record begins: what was known of the event is no longer valid. Returns the argument for end_record.
  std::uint64_t begin_record(CUevent event);
  // REQUIRES: called once after each begin_record. If records of an event overlap, its last record is unknown.
  void end_record(CUevent event, std::uint64_t turn, const std::optional<QueuedWork>& work, CUstream stream);
  // The last record, if known.
  std::optional<Record> find(CUevent event);
  // Whether `record` is still the last one, after a call about the event has returned.
  bool is_last(CUevent event, const Record& record);
  // The program destroys it.
  void forget(CUevent event) { end_record(event, begin_record(event), std::nullopt, nullptr); }
  // Some records are not visible: waits on events are ignored from now on.
  void tell_nothing() { blind_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kPlaces = 512;

  struct Place {
    CUevent event;
    std::uint64_t turn;  // increases with every record
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

// The instance of this process.
ProgramEvents& program_events();

}  // namespace tessera::preload
