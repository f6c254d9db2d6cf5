// The out-of-memory message: what was requested, where all memory is, and what to try next.
//
// The bytes add up on every line, so that a reader can see which budget is too small; the last line names the reason
// and one remedy.
//
// Thread safety: stateless.
#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"

namespace tessera {

struct OomFigures {
  struct Tier {
    Bytes capacity;  // 0: the tier does not exist
    Bytes used;
  };
  enum class Cause {
    kHeapFull,    // no tier has room for another block
    kWorkingSet,  // the blocks of one launch do not fit into device memory together
    kBlock,       // one block alone does not fit into it
  };
  enum class FileState {
    kNotAsked,
    kSizeZero,  // file-memory is 0
    kRefused,   // requested but not available
    kServes,
    kEnded,  // a write failed, so nothing more is written
    kSpent,  // the write budget is used up: nothing more is written
  };

  Cause cause = Cause::kHeapFull;
  Bytes asked;
  DeviceId device;
  Tier device_tier, peer_tier, host_tier, file_tier;
  Bytes pinned;               // of device_tier.used
  Bytes exposed;              // of device_tier.used
  std::string exposed_by;     // the call that exposed most of it
  bool automatic = true;      // blocks are evicted automatically
  bool host_refused = false;  // the machine had no more host memory, whatever the budget allows
  Bytes elsewhere = {};       // part of the device's budget that the driver has given to others
  FileState file = FileState::kNotAsked;
  std::string file_trouble{};  // why it is refused or ended
  Bytes file_ended{};          // of file_tier: free bytes to which nothing is written any more
  // Bytes that the machine, its control groups and the disks have left for larger budgets; none if it is simulated.
  std::optional<Bytes> host_left{};
  std::optional<Bytes> disk_left{};
  bool file_limited = false;  // by the file size limit, not by file-memory
};

std::string oom_message(const OomFigures& figures);

}  // namespace tessera
