// The out-of-memory message: what was asked, where everything is, what to try next.
//
// The bytes add up on every line, so that a reader can see which budget is the narrow one; the last
// line names what is in the way, and one thing to do about it.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "base/units.hpp"

namespace tessera {

struct OomFigures {
  struct Tier {
    Bytes capacity;  // 0: there is no such tier
    Bytes used;
  };
  enum class Cause {
    kHeapFull,    // no tier has room for another block
    kWorkingSet,  // the blocks of one launch do not fit into device memory together
    kBlock,       // one block alone does not
  };
  enum class FileState {
    kNotAsked,
    kSizeZero,  // file-memory is 0
    kRefused,   // asked for, and could not be had
    kServes,
    kEnded,     // nothing is written to it any more: a write failed
    kSpent,     // likewise: the write budget is used up
  };

  Cause cause = Cause::kHeapFull;
  Bytes asked;
  DeviceId device;
  Tier device_tier, peer_tier, host_tier, file_tier;
  Bytes pinned;   // of device_tier.used
  Bytes exposed;  // of device_tier.used
  std::string exposed_by;  // the call that exposed most of it
  bool automatic = true;   // blocks leave device memory by themselves
  bool host_refused = false;  // the machine gave no more host memory, whatever the budget says
  Bytes elsewhere = {};  // of the device's budget, which the driver has given to others
  FileState file = FileState::kNotAsked;
};

std::string oom_message(const OomFigures& figures);

}  // namespace tessera
