// When Tessera serves this process, and when it stays out of the way.
//
// Start: at the first allocation in a current context, hence after cuInit, or at the first memory query if the answer
// is to be the whole heap. Loading the library runs nothing. If Tessera cannot start (no virtual memory management, bad
// options, switched off), every later call goes to the driver, and one line gives the reason.
// End: an atexit handler writes what the options ask for; endings.hpp handles other exits. The allocator itself is not
// destroyed, since a driver that shuts down releases the device's memory anyway. In a child of fork Tessera is off:
// CUDA does not work there either.
//
// Thread safety: any thread. Only the start takes a lock; every other call is a load or two.
#pragma once

#include <atomic>
#include <optional>

#include "cuda_api.hpp"
#include "launch_facts.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

// The allocator, or null while Tessera does not serve this process.
inline tessera_allocator* running() { return detail::launch_facts.allocator.load(std::memory_order_acquire); }

// Whether Tessera has found that it cannot serve this process.
bool stays_out();

// Whether the address is in the heap of any device, and not foreign; managed() calls it if the range has gaps.
bool in_a_heap(CUdeviceptr address);

// Starts Tessera if necessary. REQUIRES: a context is current.
tessera_allocator* started();

// Whether Tessera works in this process, or may start with the next allocation. False if it could not start, or is off.
bool works_or_will();

// Whether there is a heap. If so, a launch without words is announced too: it may reach a block by an address that it
// reads from memory.
inline bool has_heap() { return detail::launch_facts.range_high.load(std::memory_order_relaxed) != 0; }

// Whether blocks of more than one device were allocated.
inline bool several_devices() { return detail::launch_facts.several.load(std::memory_order_relaxed); }

// Whether the address is in the heap, in a live block or not. Other addresses fail at the first or second comparison.
// There may be driver memory between the heaps of two devices, and where the program maps it (foreign_ranges.hpp).
inline bool managed(CUdeviceptr address) {
  return address < detail::launch_facts.range_high.load(std::memory_order_relaxed) &&
         address >= detail::launch_facts.range_low.load(std::memory_order_relaxed) &&
         (!detail::launch_facts.has_gaps.load(std::memory_order_relaxed) || in_a_heap(address));
}

// Finds the live block that contains the address. False if there is none.
bool find_block(CUdeviceptr address, tessera_block_info& block);

// Whether Tessera manages allocations in `context`: on each device, the first context that asks, or the primary one
// where a helper's gave way. Completion of work is known from events of that context, and streams of other contexts do
// not accept them.
bool is_home(CUdevice device, CUcontext context);
// That context; null if none has asked yet.
CUcontext home_of(CUdevice device);

struct CurrentContext {
  CUdevice device;
  CUcontext context;
};
// The calling thread's, as the driver names it; none if it does not. Where it is a home, as nearly always, the driver
// is not asked for the device.
std::optional<CurrentContext> current_context();

// Null if the device has no active primary context; retaining it would create one.
CUcontext active_primary(CUdevice device);

// As is_home(), but a primary context replaces earlier contexts of helper libraries, on all devices. Tessera then
// starts anew with the next allocation, so started() has to be called again. Does not replace them if a primary context
// is in use already, or if the blocks of the others do not all fit in device memory. REQUIRES: `context` is current.
bool take_home(CUdevice device, CUcontext context);

// Call after an allocation: extends the range when a device is used for the first time.
void learn_range(tessera_allocator* allocator);

// Call before `context` ends: waits for its work and our copies. If Tessera lived in it, Tessera ends with it and
// starts anew with the next allocation.
void leave_context(CUcontext context);

// For the other interfaces in this process: starts Tessera if a context is current, and learns its address range.
// Errors: NOT_READY before there is a context; NOT_SUPPORTED if Tessera does not work here.
tessera_result attend();

// Detects calls that come from within a call of ours; these go straight to the driver.
class Entry {
 public:
  Entry() : nested_(inside_) { inside_ = true; }
  ~Entry() { inside_ = nested_; }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  bool nested() const { return nested_; }
  // Of the calling thread.
  static bool is_inside() { return inside_; }

 private:
  [[gnu::tls_model("initial-exec")]] static thread_local constinit bool inside_;
  const bool nested_;
};

}  // namespace tessera::preload
