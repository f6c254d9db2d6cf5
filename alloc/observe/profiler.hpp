// Live notifications for a profiler attached to the process: named time ranges.
//
// The timeline (timeline.hpp) shows the same afterwards, for Tessera alone; a profiler shows it beside the
// program's own kernels and copies. Without a profiler the pointer is null, and the cost is one compare where a
// call waits or a page moves.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.hpp"
#include "observe/event.hpp"

namespace tessera {

class Profiler {
 public:
  virtual ~Profiler() = default;

  // Opens a range on the calling thread, until pop(). Ranges nest. `name` is a string literal.
  virtual void push(const char* name, std::uint64_t number) = 0;
  virtual void pop() = 0;
  // Begins the transfer of a page, until end_move() or the page's next begin_move(). Any thread may end it.
  virtual void begin_move(Link link, Address page, Bytes bytes) = 0;
  // Does nothing if no transfer of the page is under way.
  virtual void end_move(Address page) = 0;
  // A mark set by the program: a range of this kind (for example an iteration) begins, and the previous one
  // ends.
  virtual void mark(std::string_view kind, std::uint64_t number) = 0;
};

// The process's profiler: the tool that NVTX finds (NVTX_INJECTION64_PATH, set by the tool). Null without a
// tool, or if Tessera was built without NVTX's headers. Never destroyed.
Profiler* attached_profiler();

// A scoped push() and pop(); does nothing without a profiler.
class ProfilerRange {
 public:
  ProfilerRange(Profiler* profiler, const char* name, std::uint64_t number = 0) : profiler_(profiler) {
    if (profiler_ != nullptr) profiler_->push(name, number);
  }
  ~ProfilerRange() {
    if (profiler_ != nullptr) profiler_->pop();
  }
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;

 private:
  Profiler* const profiler_;
};

}  // namespace tessera
