// The base of an allocator: the parts that exist both for this machine and simulated. Everything above them is the same
// code for both.
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
  // Whether a thread advances the moves. Without it, the owner calls Allocator::advance().
  bool pump = true;
  // The attached profiler; null if there is none, or if time is virtual.
  Profiler* profiler = nullptr;
  // The number of newest events kept for a timeline.
  std::size_t events = std::size_t{1} << 16;
};

}  // namespace tessera
