// Values with handles that are never reused, so that a handle to a removed value is recognised.
//
// A handle contains the slot of its value, which is found without a search. Slots are reused, and keep what their value
// had allocated. There are as many slots as there were values at once.
//
// Thread safety: none; the owner locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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
      if (count_ % kTogether == 0) parts_.push_back(std::make_unique<Part>());
      spare_.push_back(count_++);
    }
    const std::size_t slot = spare_.back();
    spare_.pop_back();
    return at_slot(slot).handle = Handle(next_turn_++ * kSlots + slot);
  }
  bool contains(Handle handle) const {
    const std::size_t slot = slot_of(handle);
    return slot < count_ && at_slot(slot).handle == handle && handle != Handle();
  }
  // Null for a handle to no value, or to one that was removed.
  T* find(Handle handle) { return contains(handle) ? &at(handle) : nullptr; }
  const T* find(Handle handle) const { return contains(handle) ? &at(handle) : nullptr; }
  // REQUIRES (of these): it exists. References to the value stay valid until give().
  T& at(Handle handle) { return at_slot(slot_of(handle)).value; }
  const T& at(Handle handle) const { return at_slot(slot_of(handle)).value; }
  void give(Handle handle) {
    at_slot(slot_of(handle)).handle = Handle();
    spare_.push_back(slot_of(handle));
  }
  std::size_t size() const { return count_ - spare_.size(); }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const Slot& slot = at_slot(i);
      if (slot.handle != Handle()) visit(slot.handle, slot.value);
    }
  }

 private:
  struct Slot {
    Handle handle{};  // none while it is spare
    T value{};
  };
  static constexpr std::size_t kTogether = 64;  // slots in one allocation, which stays where it is
  using Part = std::array<Slot, kTogether>;

  Slot& at_slot(std::size_t slot) { return (*parts_[slot / kTogether])[slot % kTogether]; }
  const Slot& at_slot(std::size_t slot) const { return (*parts_[slot / kTogether])[slot % kTogether]; }

  std::uint64_t next_turn_ = 1;
  std::vector<std::unique_ptr<Part>> parts_;
  std::size_t count_ = 0;  // of slots so far
  std::vector<std::size_t> spare_;
};

}  // namespace tessera
