// Values with handles that are never reused, so that a handle to a removed value is recognised.
//
// A handle contains the slot of its value, which is found without a search. Slots are reused, and keep what their value
// had allocated. There are as many slots as there were values at once.
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace tessera {

template <class Handle, class T>
class SimSlots {
 public:
  // At most this many values at once.
  static constexpr std::uint64_t kSlots = std::uint64_t{1} << 24;

  // Handles of values that exist at the same time have different slots.
  static std::size_t slot_of(Handle handle) { return handle.value() % kSlots; }

  // The value is left as its predecessor in the slot was.
  Handle take() {
    if (spare_.empty()) {
      spare_.push_back(slots_.size());
      slots_.emplace_back();
    }
    const std::size_t slot = spare_.back();
    spare_.pop_back();
    return slots_[slot].handle = Handle(next_turn_++ * kSlots + slot);
  }
  bool contains(Handle handle) const {
    const std::size_t slot = slot_of(handle);
    return slot < slots_.size() && slots_[slot].handle == handle && handle != Handle();
  }
  // REQUIRES (of these): it exists. References to the value stay valid until give().
  T& at(Handle handle) { return slots_[slot_of(handle)].value; }
  const T& at(Handle handle) const { return slots_[slot_of(handle)].value; }
  void give(Handle handle) {
    slots_[slot_of(handle)].handle = Handle();
    spare_.push_back(slot_of(handle));
  }
  std::size_t size() const { return slots_.size() - spare_.size(); }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.handle != Handle()) visit(slot.handle, slot.value);
    }
  }

 private:
  struct Slot {
    Handle handle{};  // none while it is spare
    T value{};
  };
  std::uint64_t next_turn_ = 1;
  std::deque<Slot> slots_;
  std::vector<std::size_t> spare_;
};

}  // namespace tessera
