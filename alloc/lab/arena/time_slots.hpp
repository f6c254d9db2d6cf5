// Compresses the steps of a plan into numbered slots: one per step at which a record begins.
//
// Live bytes only grow at those steps, so two records overlap exactly if they share such a slot, and no maximum
// is lost. The cost of planning then depends on the number of records, not of steps.
//
// Thread safety: const calls from any thread.
// Invariant: every record has at least one slot.
#pragma once

#include <span>
#include <vector>

#include "lab/arena/usage_record.hpp"

namespace tessera {

// Slots `first` to `last`, inclusive.
struct SlotSpan {
  std::size_t first = 0;
  std::size_t last = 0;

  bool inside(const SlotSpan& other) const { return other.first <= first && last <= other.last; }
};

class TimeSlots {
 public:
  // REQUIRES: check_records succeeded.
  explicit TimeSlots(std::span<const UsageRecord> records);

  std::size_t count() const { return count_; }
  const SlotSpan& span(std::size_t record) const { return spans_[record]; }

 private:
  std::size_t count_ = 0;
  std::vector<SlotSpan> spans_;
};

}  // namespace tessera
