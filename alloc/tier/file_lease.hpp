// What the spill files may use of disks that several programs share.
//
// Thread safety: every call may be made from any thread, also with a lock held: none of them waits for long.
#pragma once

#include "base/units.hpp"

namespace tessera {

class FileLease {
 public:
  virtual ~FileLease() = default;
  // Before the bytes are used. False: they are in use by other programs, or others are entitled to them.
  virtual bool take(Bytes bytes) = 0;
  // After they were returned to the file system.
  virtual void give(Bytes bytes) = 0;
  // Before the bytes are written. False: the write budget is used up.
  virtual bool take_writes(Bytes bytes) = 0;
};

}  // namespace tessera
