#include "residency/placeholders.hpp"

#include "residency/pages/row.hpp"

namespace tessera {

void Placeholders::begin() {
  const MutexLock lock(locked_.mutex);
  ++begun_;
}

Status Placeholders::cover(Run* run) {
  const MutexLock lock(locked_.mutex);
  return locked_.moves.placeholders.cover(pages_of(*run));
}

void Placeholders::end() {
  const MutexLock lock(locked_.mutex);
  if (begun_ != 0 && --begun_ == 0) locked_.moves.placeholders.uncover_all();
}

}  // namespace tessera
