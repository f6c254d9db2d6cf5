// Runs many pieces of work, each in a child process of its own, several at a time.
//
// A piece that crashes, hangs or exhausts memory affects only its own answer. Processor time is limited rather than
// wall time, so that a busy machine gives the same answers; a wall-time limit backs it up for work that sleeps.
//
// Thread safety: none; no other thread may run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

struct ChildLimits {
  unsigned cpu_seconds = 120;
  std::uint64_t memory = std::uint64_t{4} << 30;  // bytes of data in addition to the parent's own
};

struct ChildAnswer {
  std::string text;     // what the work returned
  std::string failure;  // why there is none, or ""
  std::chrono::microseconds
      processor_time{};  // that the process took, until it ended; with its threads, also if it failed
};

// Calls `ended` with the number and the answer of each piece, in whatever order they arrive. REQUIRES: jobs > 0.
void run_in_children(std::size_t count, int jobs, const ChildLimits& limits,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildAnswer&)>& ended);
