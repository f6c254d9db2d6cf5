// A replay of several programs as one JSON object (docs/replay.md explains every key).
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <string>

#include "lab/replay/shared_replay.hpp"

namespace tessera {

// One line. Equal results give equal bytes. REQUIRES: the result is that of these traces.
std::string shared_replay_json(std::span<const Trace> traces, const SharedReplayResult& result);

}  // namespace tessera
