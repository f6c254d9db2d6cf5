// One announced use of runs, and how it uses them.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace tessera {

struct Run;
using Runs = std::span<Run* const>;
using Held = std::function<void()>;  // called when the runs can no longer be removed

enum class Access : std::uint8_t { kRead, kWrite };
enum class Contents : std::uint8_t { kKept, kUndefined };
// What becomes of a use whose runs do not fit on the device together: an error, or part of them is used in host memory
// (eviction/partial_runs.hpp), where the machine can do that.
enum class Oversized : std::uint8_t { kUsedInHost, kRefused };

// kGate is for work that is queued and returns at once; kHold for calls that return when their work is done and so must
// not stay in the gate.
struct Use {
  enum class Kind : std::uint8_t { kGate, kHold };
  Kind kind = Kind::kGate;
  Oversized oversized = Oversized::kUsedInHost;  // set by the caller: kRefused if it has another way out
  bool copies = false;                           // set by the caller: a copy or a set, not a kernel
  const void* work = nullptr;                    // set by the caller: equal pointers mean equal work, for the learner
  std::uint32_t gate_slot = 0;
  std::uint32_t watch = kNoWatch;  // times the work, if the learner requested it
  static constexpr std::uint32_t kNoWatch = ~std::uint32_t{0};
  std::uint32_t named = ~std::uint32_t{0};  // set by the caller: so many of the runs are named, for the learner
};

}  // namespace tessera
