// Replays several programs on one machine, in each way in which they may share its device, and compares the times.
//
// Every program has its own allocator, as in a process of its own, and the sharing is that of api/device_share.hpp.
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/replay/replayer.hpp"

namespace tessera {

struct SharedReplayOptions {
  ReplayOptions replay;             // of each program; device_memory is what all of them may hold together
  std::uint32_t time_slice = 2000;  // milliseconds
  // By program: both are empty, or have one value for each.
  std::vector<std::uint32_t> weights;
  std::vector<Bytes> limits;  // 0: none

  // Also those of the replay. Errors: as ReplayOptions::set.
  Status set(std::string_view name, std::string_view value);
};

// A program among the others.
struct SharedProgram {
  Status status;      // the rest is valid if it is OK
  Nanoseconds ended;  // since all of them began
  ReplayResult result;
};

struct SharedWay {
  std::string name;
  std::vector<SharedProgram> programs;
  Nanoseconds time;       // until all of them had ended
  double throughput = 0;  // the time of one after the other, divided by this one
  bool all_well() const;  // no program failed
};

struct SharedReplayResult {
  SharedReplayOptions options;  // with the device_memory, weights and limits in effect
  std::vector<ReplayResult> alone;
  // One after the other; at the same time: each takes what it can get, shares without turns, shares in turns.
  std::vector<SharedWay> ways;
};

// REQUIRES: as replay() for each trace. Errors: kInvalidArgument for fewer than two traces, options that do not suit
// them, traces of several devices, a peer, a timeline; what a program fails with alone.
Result<SharedReplayResult> replay_shared(std::span<const Trace> traces, SharedReplayOptions options);

}  // namespace tessera
