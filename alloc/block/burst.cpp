#include "block/burst.hpp"

#include <algorithm>

namespace tessera {

// The newest run may have been used, to fill the block that it served.
bool Burst::ask(Epoch epoch, std::uint64_t frees) {
  MutexLock lock(mutex_);
  const bool goes_on = frees == frees_ && !is_used_since(runs_[1], epoch_) && !is_used_since(runs_[2], epoch_);
  length_ = goes_on ? length_ + 1 : 1;
  epoch_ = epoch;
  frees_ = frees;
  return length_ >= kFromThe;
}

bool Burst::is_used_since(Address address, Epoch epoch) const {
  if (!address) return false;
  const PageManager::Reader reader(pages_);
  const Run* const run = pages_.find(address);
  return run && run->used.load() > epoch;
}

void Burst::note_served(Address run) {
  MutexLock lock(mutex_);
  const auto old = std::min(std::find(runs_.begin(), runs_.end(), run), runs_.end() - 1);
  std::rotate(runs_.begin(), old, old + 1);
  runs_[0] = run;
}

}  // namespace tessera
