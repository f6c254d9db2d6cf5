// What an allocator stands on: the parts that exist in a kind for this machine and in a simulated
// kind. All above them is the same code in both.
//
// Thread safety: a value.
#pragma once

#include <cstddef>
#include <memory>

#include "base/clock.hpp"
#include "driver/driver.hpp"
#include "observe/profiler.hpp"
#include "tier/file_tier.hpp"
#include "tier/host_pages.hpp"

namespace tessera {

struct Foundations {
  const Clock& clock;
  std::unique_ptr<Driver> driver;
  std::unique_ptr<FileTier> file;
  HostPages& host_pages;
  // Whether a thread keeps moves going. Without it, the owner calls Allocator::advance().
  bool pump = true;
  // Who watches the process; null where nobody does, or where time is not the watcher's.
  Profiler* profiler = nullptr;
  // So many of the newest events are kept for a timeline.
  std::size_t events = std::size_t{1} << 16;
};

}  // namespace tessera
