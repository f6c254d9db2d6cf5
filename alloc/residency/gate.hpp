// The gate: open while work is queued, closed for the short time in which mappings change.
//
// A launch must not start between the moment its operands were found in device memory and the
// moment they are unmapped. Launches pass through the gate (shared, tens of nanoseconds: one
// counter in the thread's own cache line); whoever unmaps closes it, which waits for those inside.
//
// Thread safety: that is its job. A thread leaves by the slot it entered by, makes no call that
// could close the gate in between, and enters once at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/mutex.hpp"

namespace tessera {

class Gate {
 public:
  // Waits while the gate is closed. Returns the slot to leave by.
  std::uint32_t enter();
  void leave(std::uint32_t slot);

  // Closed for the life of the object. Calls of one gate exclude each other by the caller's lock.
  class Closed {
   public:
    explicit Closed(Gate& gate) : gate_(gate) { gate_.close(); }
    ~Closed() { gate_.open(); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;

   private:
    Gate& gate_;
  };

 private:
  static constexpr std::size_t kSlots = 64;
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> inside{0};
  };

  void close();
  void open();

  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<bool> closed_{false};
};

}  // namespace tessera
