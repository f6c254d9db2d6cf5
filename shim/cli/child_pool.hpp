// Many pieces of work, each in a child process of its own, some at a time.
//
// A piece that crashes, hangs or eats all memory spoils nothing but its own answer. Processor time is
// limited rather than time on the clock, so that a busy machine gives the same answers; a limit on the
// clock stands behind it for work that sleeps.
//
// Thread safety: none; no other thread may run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

struct ChildLimits {
  unsigned cpu_seconds = 120;
  std::uint64_t memory = std::uint64_t{4} << 30;  // bytes of data beside the parent's own
};

struct ChildAnswer {
  std::string text;     // what the work returned
  std::string failure;  // why there is none, or ""
};

// Answers by number, whatever order they came in. `ended` is told how many are there, after each.
// REQUIRES: jobs > 0.
std::vector<ChildAnswer> run_in_children(std::size_t count, int jobs, const ChildLimits& limits,
                                         const std::function<std::string(std::size_t)>& work,
                                         const std::function<void(std::size_t)>& ended);
