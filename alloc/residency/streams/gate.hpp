// The gate: open while work is queued, closed for the short time in which mappings change.
//
// A launch must not start between the moment its operands were found in device memory and the moment they are unmapped.
// Launches pass through the gate (shared: one ordered store into the thread's own cache line on the way in, a plain one
// on the way out). The thread that unmaps closes the gate, which waits until no thread is inside; it polls, because
// leaving threads do not notify.
//
// Thread safety: any thread. A thread leaves by the slot it entered by, makes no call in between that could close the
// gate, and does not enter twice.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/thread_number.hpp"
#include "base/units.hpp"

namespace tessera {

class Gate {
 public:
  // The longest time that closing it waits for the threads inside. A launch on a full stream returns only when a kernel
  // there has ended, and that kernel may wait for the program.
  explicit Gate(Nanoseconds patience = Nanoseconds(~std::uint64_t{0} >> 1)) : patience_(patience) {}

  // Waits while the gate is closed. Returns the slot to leave by.
  // The two sides use sequentially consistent operations on different locations (Dekker): either the
  // entering thread sees the gate closed, or the closing thread sees it inside.
  std::uint32_t enter() {
    const std::uint32_t index = thread_number();
    come(index);
    if (closed_.load()) enter_when_open(index);
    return index;
  }
  // By the thread that entered.
  void leave(std::uint32_t slot) {
    auto& inside = slots_[slot].inside;
    if (slot != kSharedThreadNumber) {
      inside.store(inside.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    } else {
      inside.fetch_sub(1, std::memory_order_release);
    }
  }

  // Whether every thread has been outside at some point since the call began, so that all work stamped before is
  // queued. False where a thread does not leave soon. `but`: the slot of the calling thread, if it is inside itself.
  // Takes a cache line of each thread that there was.
  bool saw_all_out(std::uint32_t but = kThreadSlots) const;

  // Keeps the gate closed while it exists, if all threads left in time. The caller's lock excludes another such object.
  class Closed {
   public:
    explicit Closed(Gate& gate) : gate_(gate), is_closed_(gate.close()) {}
    ~Closed() {
      if (is_closed_) gate_.open();
    }
    bool is_closed() const { return is_closed_; }
    // kNotReady if the gate is not closed.
    Status status() const;
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;

   private:
    Gate& gate_;
    const bool is_closed_;
  };

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> inside{0};
  };

  void come(std::uint32_t slot) {
    auto& inside = slots_[slot].inside;
    if (slot != kSharedThreadNumber) {
      inside.store(inside.load(std::memory_order_relaxed) + 1);
    } else {
      inside.fetch_add(1);
    }
  }
  void enter_when_open(std::uint32_t slot);
  bool close();  // false: the gate is open, as some threads have not left
  void open();

  const Nanoseconds patience_;
  std::array<Slot, kThreadSlots> slots_;
  alignas(64) std::atomic<bool> closed_{false};
};

}  // namespace tessera
