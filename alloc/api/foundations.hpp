// The base of an allocator: the parts that exist both for this machine and simulated. Everything above them is the same
// code for both.
//
// Thread safety: a value.
#pragma once

#include <cstddef>
#include <memory>

#include "api/ledger_access.hpp"
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
  // For devices that other programs use too. Null: the machine's own where there is a pump, none without it.
  LedgerAccess* ledgers = nullptr;

  LedgerAccess* ledgers_in_use() const { return ledgers == nullptr && pump ? &system_ledgers() : ledgers; }
};

}  // namespace tessera
