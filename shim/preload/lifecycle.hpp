// When Tessera works for this process, and when it stays out of the way.
//
// Start: at the first allocation in a current context, hence after cuInit, or at the first question for
// memory where the answer is the whole heap; nothing runs when the library is loaded. If it cannot start
// (no virtual memory management, bad options, switched off), every call goes to the driver from then on,
// and one line says why.
// End: an atexit handler writes what the options ask for, or what endings.hpp has for other ends; the allocator itself is
// left alone, since a driver that shuts down takes the device's memory with it. In a child of fork Tessera is off:
// CUDA does not work there either.
//
// Thread safety: any thread. Only start takes a lock; every other call is a load or two.
#pragma once

#include <atomic>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

namespace detail {
extern constinit std::atomic<tessera_allocator*> allocator;
// No device in use: an empty range. It only ever grows, so both ends may be read apart.
extern constinit std::atomic<CUdeviceptr> range_low;
extern constinit std::atomic<CUdeviceptr> range_high;
extern constinit std::atomic<bool> several;
}  // namespace detail

// The allocator, or null when Tessera does not work in this process (yet).
inline tessera_allocator* running() { return detail::allocator.load(std::memory_order_acquire); }

// Whether Tessera has found that it cannot work in this process.
bool stays_out();

// Whether the address is in the heap of a device: what managed() asks where there are several.
bool in_a_heap(CUdeviceptr address);

// Starts it if need be. REQUIRES: a context is current.
tessera_allocator* started();

// Whether it works here, or may with the next allocation. False where it could not start, or is switched off.
bool works_or_will();

// Whether there is a heap. Then a launch that names no block is announced as well: it may reach one by an address that
// it reads from memory.
inline bool has_heap() { return detail::range_high.load(std::memory_order_relaxed) != 0; }

// Whether blocks of more than one device were allocated.
inline bool several_devices() { return detail::several.load(std::memory_order_relaxed); }

// Whether the address is Tessera's, in a live block or not; others fail at the first compare or the second. The
// driver may have memory between the heaps of two devices.
inline bool managed(CUdeviceptr address) {
  return address < detail::range_high.load(std::memory_order_relaxed) &&
         address >= detail::range_low.load(std::memory_order_relaxed) &&
         (!several_devices() || in_a_heap(address));
}

// The live block that holds the address. False where there is none.
bool find_block(CUdeviceptr address, tessera_block_info& block);

// Whether Tessera manages what is allocated in `context`: of each device, the first context that asks.
// Whether work is over is told by events of that one, which streams of others do not take.
bool is_home(CUdevice device, CUcontext context);
// That context; null before one has asked.
CUcontext home_of(CUdevice device);

// Null where the device has none: to retain it would make one.
CUcontext active_primary(CUdevice device);

// The same, but a primary context takes the place of one that came before it, of a helper's, and Tessera starts
// anew with the next allocation: then started() has to be asked again. Not where several devices are in use, or
// where the blocks of the other context do not all fit into device memory. REQUIRES: `context` is current.
bool take_home(CUdevice device, CUcontext context);

// To be called after an allocation: each device that is used for the first time adds its part.
void learn_range(tessera_allocator* allocator);

// Before `context` ends: its work and our moves are finished, and if Tessera lived in it, Tessera
// ends with it and starts anew with the next allocation.
void leave_context(CUcontext context);

// For the other faces in the process: starts Tessera if a context is current, and learns its range.
// Errors: NOT_READY before there is a context; NOT_SUPPORTED where Tessera does not work.
tessera_result attend();

// True when a call comes from within one of our own: then it is the driver's own business.
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
