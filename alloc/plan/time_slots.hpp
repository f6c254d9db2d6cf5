// The steps of a plan as few numbered slots: one for each step at which a record begins.
//
// Why so few: what is live only grows at those steps, so two records meet exactly if they share
// such a slot, and no maximum is lost. Plans cost by the number of records, not of steps.
//
// Thread safety: const calls from any thread.
// Invariant: every record has at least one slot.
#pragma once

#include <span>
#include <vector>

#include "plan/usage_record.hpp"

namespace tessera {

// Slots `first` to `last`, both included.
struct SlotSpan {
  std::size_t first = 0;
  std::size_t last = 0;

  bool inside(const SlotSpan& other) const { return other.first <= first && last <= other.last; }
};

class TimeSlots {
 public:
  // REQUIRES: check_records.
  explicit TimeSlots(std::span<const UsageRecord> records);

  std::size_t count() const { return count_; }
  const SlotSpan& span(std::size_t record) const { return spans_[record]; }

 private:
  std::size_t count_ = 0;
  std::vector<SlotSpan> spans_;
};

}  // namespace tessera
