#include "block/burst.hpp"

#include <algorithm>

#include "block/slab.hpp"

namespace tessera {
namespace {

// In thousandths of the pages.
std::uint64_t waste(Bytes bytes) {
  const Bytes pages = round_up(bytes, kBasePage);
  return (pages - bytes).value() * 1000 / pages.value();
}

}  // namespace

// The newest run may have been used: to fill the block that it served.
bool Burst::ask(std::uint64_t epoch, std::uint64_t frees) {
  MutexLock lock(mutex_);
  const bool goes_on = frees == frees_ && !is_used_since(runs_[1], epoch_) && !is_used_since(runs_[2], epoch_);
  length_ = goes_on ? length_ + 1 : 1;
  epoch_ = epoch;
  frees_ = frees;
  return length_ >= kFromThe;
}

bool Burst::is_used_since(Address address, std::uint64_t epoch) const {
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

std::uint32_t Burst::take_more(const CacheKey& key, Bytes live) {
  MutexLock lock(mutex_);
  std::uint32_t& made = made_[key];
  const Bytes held = key.size_class.bytes() * made;
  const std::uint32_t blocks = best_slots(key.size_class, std::min({Slab::kMostBytes, live / 16, held * 2}));
  made += blocks;
  return blocks;
}

std::uint32_t Burst::best_slots(SizeClass wide, Bytes most) {
  const std::uint64_t alone = waste(wide.bytes());
  std::uint64_t least = alone;
  std::uint32_t best = 1;
  for (std::uint32_t slots = 2; round_up(wide.bytes() * slots, kBasePage) <= most; ++slots) {
    const std::uint64_t wasted = waste(wide.bytes() * slots);
    if (wasted + 10 >= least) continue;
    least = wasted;
    best = slots;
  }
  return least + 30 < alone ? best : 1;
}

}  // namespace tessera
