// A replay on whose machine calls about memory take no time, for tests that compute times by hand.
//
// Thread safety: functions.
#pragma once

#include "lab/replay/replay_options.hpp"

namespace tessera::test {

inline ReplayOptions with_free_calls() {
  ReplayOptions options;
  options.mapping_time = options.copy_turn = options.frame_time = {};
  return options;
}

}  // namespace tessera::test
