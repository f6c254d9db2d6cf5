#include "residency/placeholders.hpp"

#include <utility>

#include "residency/pages/row.hpp"

namespace tessera {

void Placeholders::begin() {
  const MutexLock lock(locked_.mutex);
  ++begun_;
}

Status Placeholders::cover(Run* run) {
  if (run->missing.load() == 0) return {};
  const MutexLock lock(locked_.mutex);
  return locked_.moves.placeholders.cover(pages_of(*run));
}

Status Placeholders::make_room() {
  TESSERA_TRY(yields_.begin(kBasePage).status());
  const MutexLock lock(locked_.mutex);
  if (std::exchange(has_room_, true)) yields_.end();
  return {};
}

void Placeholders::end() {
  const MutexLock lock(locked_.mutex);
  if (begun_ == 0 || --begun_ != 0) return;
  locked_.moves.placeholders.uncover_all();
  if (std::exchange(has_room_, false)) yields_.end();
}

}  // namespace tessera
