// A replay as one JSON object (docs/replay.md explains every key), and the list of policies.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "lab/replay/replayer.hpp"

namespace tessera {

// One line. Equal results give equal bytes.
std::string replay_json(const Trace& trace, const ReplayResult& result);
// [{"name":…,"source":…,"summary":…},…]
std::string policies_json();

}  // namespace tessera
