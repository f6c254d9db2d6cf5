// What each launch asks first, in one cache line: in the common case it needs no other line of the library's data.
// Hooks run beside a program that uses the caches for itself, so a launch finds most lines that it touches in memory.
//
// Each fact has one writer, the file that is named; the names by which the others ask are in its header.
//
// Thread safety: atomics. Their writers say what else holds.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

struct TrueDriver;

struct alignas(64) LaunchFacts {
  std::atomic<const TrueDriver*> driver{nullptr};  // true_driver.cpp
  // lifecycle.cpp. While no device is in use the range is empty. It only grows, so the two ends may be read separately.
  std::atomic<tessera_allocator*> allocator{nullptr};
  std::atomic<CUdeviceptr> range_low{0}, range_high{0};
  std::atomic<std::uint32_t> layouts{1};  // kernel_layouts.cpp: grows when kernels' layouts are dropped
  std::atomic<bool> several{false};
  std::atomic<bool> has_gaps{false};          // not all of the range is ours; foreign_ranges.cpp too
  std::atomic<bool> any_green{false};         // green_contexts.cpp
  std::atomic<bool> captures{false};          // capture.cpp: the program has captured a stream
  std::atomic<bool> late_copies{false};       // late_copies.cpp: any()
  std::atomic<bool> handed_addresses{false};  // handed_addresses.cpp: any()
  std::atomic<bool> pointer_tables{false};    // pointer_tables.cpp: any()
  std::atomic<bool> torch_listener{false};    // torch_listener.cpp: it is there, and is not attached yet
};

namespace detail {
extern constinit LaunchFacts launch_facts;
}  // namespace detail

static_assert(sizeof(LaunchFacts) == 64, "one cache line");

}  // namespace tessera::preload
