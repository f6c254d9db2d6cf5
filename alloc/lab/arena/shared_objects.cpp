#include "lab/arena/shared_objects.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "lab/arena/placement_order.hpp"

namespace tessera {
namespace {

// The objects of a plan under construction, by size, with the slots in which each is used.
class Objects {
 public:
  explicit Objects(std::size_t records) : plan_{std::vector<std::size_t>(records), {}, {}} {}

  // The smallest object of at least `bytes` that is free in `span`, else the largest one free.
  std::optional<std::size_t> best_for(const SlotSpan& span, Bytes bytes) const;
  void give(std::size_t record, std::size_t object, const SlotSpan& span, Bytes bytes);
  std::size_t make(Bytes bytes);
  SharedPlan finish();

 private:
  bool free_in(std::size_t object, const SlotSpan& span) const;

  SharedPlan plan_;
  std::set<std::pair<Bytes, std::size_t>> by_bytes_;
  std::vector<std::map<std::size_t, std::size_t>> busy_;  // per object: first slot -> last slot
};

bool Objects::free_in(std::size_t object, const SlotSpan& span) const {
  const auto after = busy_[object].upper_bound(span.last);
  return after == busy_[object].begin() || std::prev(after)->second < span.first;
}

std::optional<std::size_t> Objects::best_for(const SlotSpan& span, Bytes bytes) const {
  const auto enough = by_bytes_.lower_bound({bytes, 0});
  for (auto object = enough; object != by_bytes_.end(); ++object) {
    if (free_in(object->second, span)) return object->second;
  }
  for (auto object = std::make_reverse_iterator(enough); object != by_bytes_.rend(); ++object) {
    if (free_in(object->second, span)) return object->second;
  }
  return std::nullopt;
}

void Objects::give(std::size_t record, std::size_t object, const SlotSpan& span, Bytes bytes) {
  plan_.object_of[record] = object;
  busy_[object].emplace(span.first, span.last);
  if (bytes <= plan_.object_bytes[object]) return;
  by_bytes_.erase({plan_.object_bytes[object], object});
  plan_.object_bytes[object] = bytes;
  by_bytes_.emplace(bytes, object);
}

std::size_t Objects::make(Bytes bytes) {
  const std::size_t object = busy_.size();
  busy_.emplace_back();
  plan_.object_bytes.push_back(bytes);
  by_bytes_.emplace(bytes, object);
  return object;
}

SharedPlan Objects::finish() {
  plan_.total = std::accumulate(plan_.object_bytes.begin(), plan_.object_bytes.end(), Bytes());
  return std::move(plan_);
}

SharedPlan share_in(const std::vector<std::size_t>& order, std::span<const UsageRecord> records,
                    const TimeSlots& slots) {
  Objects objects(records.size());
  for (const std::size_t i : order) {
    const std::optional<std::size_t> found = objects.best_for(slots.span(i), records[i].bytes);
    const std::size_t object = found ? *found : objects.make(records[i].bytes);
    objects.give(i, object, slots.span(i), records[i].bytes);
  }
  return objects.finish();
}

}  // namespace

SharedPlan share_by_size(std::span<const UsageRecord> records, const TimeSlots& slots) {
  return share_in(order_by_size(records), records, slots);
}

SharedPlan share_by_breadth(std::span<const UsageRecord> records, const TimeSlots& slots) {
  return share_in(order_by_breadth(records, slots), records, slots);
}

}  // namespace tessera
