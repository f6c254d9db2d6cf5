// What a profiler that watches the process is told while it happens: stretches of time by name.
//
// The timeline (timeline.hpp) tells the same afterwards, of Tessera alone; a profiler shows it beside the
// program's own kernels and copies. Whoever has none has a null pointer, and pays one compare where
// a call waits or a page moves.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/units.hpp"
#include "observe/event.hpp"

namespace tessera {

class Profiler {
 public:
  virtual ~Profiler() = default;

  // A stretch of the calling thread's time, up to pop(); they nest. `name` is a literal.
  virtual void push(const char* name, std::uint64_t number) = 0;
  virtual void pop() = 0;
  // The transfer of a page, until end_move() or until its next one. Other threads may end it.
  virtual void begin_move(Link link, Address page, Bytes bytes) = 0;
  // Nothing, when none is under way.
  virtual void end_move(Address page) = 0;
  // The program's mark: one of this kind, an iteration for one, begins, and the one before ends.
  virtual void mark(std::string_view kind, std::uint64_t number) = 0;
};

// The process's one: the tool that NVTX finds (NVTX_INJECTION64_PATH, set by the tool). Null when there
// is none, or where Tessera was built without NVTX's headers. Never ends.
Profiler* attached_profiler();

// push() and pop(), where there is somebody to tell.
class ProfilerRange {
 public:
  ProfilerRange(Profiler* profiler, const char* name, std::uint64_t number = 0)
      : profiler_(profiler) {
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
