#include "residency/iteration/launch_log.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

void LaunchLog::note(const void* work, std::span<Run* const> runs, Epoch epoch, bool writes,
                     std::optional<Stopwatches::Watch> watch, StreamId stream, bool copies) {
  MutexLock lock(mutex_);
  if (left_ != 0 && --left_ == 0) switch_off();
  noted_.lost |= noted_.launches.size() == kMaxLaunches || noted_.uses.size() + runs.size() > kMaxUses;
  if (noted_.lost) return;
  for (Run* const used : runs) {
    Run* const run = &used->learned();
    const bool fresh = run->fresh.load(std::memory_order_relaxed);
    if (fresh) {
      run->fresh.store(false, std::memory_order_relaxed);
      run->recomputed_in.store(0, std::memory_order_relaxed);  // of the block before
    }
    noted_.uses.push_back({run, writes, fresh, Nanoseconds(run->recomputed_in.load(std::memory_order_relaxed)),
                           fresh ? run->freed.load(std::memory_order_relaxed) : Epoch(),
                           fresh ? run->whole().freed_at.load(std::memory_order_relaxed) : 0, copies});
  }
  const std::uint64_t number = last() + 1;
  last_.store(number, std::memory_order_relaxed);
  noted_.launches.push_back({work, epoch, static_cast<std::uint32_t>(runs.size()), watch, stream, number});
  if (noted_.launches.size() >= look_from_) news_.store(true, std::memory_order_relaxed);
  if (noted_.launches.size() == call_at_) calls_.store(true, std::memory_order_relaxed);
}

bool LaunchLog::takes_other() {
  MutexLock lock(mutex_);
  const auto& others = noted_.others;
  return others.size() < kMostOthers || others[others.size() - kMostOthers].before != noted_.launches.size();
}

// Alone it is no reason to read the log.
bool LaunchLog::note_other(Stopwatches::Watch watch, StreamId stream) {
  MutexLock lock(mutex_);
  if (noted_.lost || noted_.others.size() == kMaxLaunches) return false;
  noted_.others.push_back({noted_.launches.size(), watch, stream});
  return true;
}

void LaunchLog::note_write(Run& run, Epoch epoch) {
  MutexLock lock(mutex_);
  noted_.lost |= noted_.writes.size() == kMaxUses;
  if (!noted_.lost) noted_.writes.push_back({epoch, &run.learned()});
}

void LaunchLog::take(Batch& batch) {
  batch.launches.clear();
  batch.uses.clear();
  batch.others.clear();
  batch.writes.clear();
  batch.lost = false;
  MutexLock lock(mutex_);
  std::swap(batch, noted_);
  news_.store(false, std::memory_order_relaxed);
  calls_.store(false, std::memory_order_relaxed);
  call_at_ = 0;
}

void LaunchLog::call_at(std::size_t launches) {
  MutexLock lock(mutex_);
  call_at_ = launches;
  calls_.store(launches != 0 && noted_.launches.size() >= launches, std::memory_order_relaxed);
}

void LaunchLog::switch_on_for(std::size_t launches) {
  MutexLock lock(mutex_);
  left_ = launches;
  on_.store(true, std::memory_order_relaxed);
}

void LaunchLog::look_from(std::size_t launches) {
  MutexLock lock(mutex_);
  look_from_ = launches;
  news_.store(noted_.launches.size() >= std::max<std::size_t>(launches, 1), std::memory_order_relaxed);
}

}  // namespace tessera
