// SimDriver's sharing of frames: its own with other processes, and theirs with it.
#include "sim/sim_driver.hpp"
#include "sim/sim_memory.hpp"

namespace tessera {

Status SimDriver::make_shareable(FrameId frame) {
  MutexLock lock(mutex_);
  return memory_->frames().make_shareable(frame);
}

Result<int> SimDriver::share_frame(FrameId frame) {
  MutexLock lock(mutex_);
  return memory_->frames().share(frame);
}

Result<int> SimDriver::share_all(DeviceId device, FrameLocation location) {
  TESSERA_TRY(check_device(device));
  MutexLock lock(mutex_);
  return memory_->frames().share_all(device, location);
}

Result<FrameId> SimDriver::adopt_frame(int file) {
  MutexLock lock(mutex_);
  return memory_->frames().adopt(file);
}

Result<FrameId> SimDriver::adopt_frame(int file, const SimPlace& place) {
  MutexLock lock(mutex_);
  return memory_->frames().adopt(file, place);
}

}  // namespace tessera
