#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

#include "lab/arena/gap_search.hpp"
#include "lab/arena/liveness.hpp"
#include "lab/arena/placement_order.hpp"
#include "lab/arena/shared_objects.hpp"

namespace tessera {
namespace {

// Reversed time, so that one search finds the nearest record on either side of a gap.
std::uint64_t mirrored(std::uint64_t time) { return kLatestStep - time; }

std::vector<UsageRecord> mirror(std::span<const UsageRecord> records) {
  std::vector<UsageRecord> turned;
  turned.reserve(records.size());
  for (const UsageRecord& record : records) {
    turned.push_back({record.bytes, mirrored(record.last), mirrored(record.first)});
  }
  return turned;
}

TimeGap mirror(const TimeGap& gap) {
  TimeGap turned;
  if (gap.before) turned.after = mirrored(*gap.before);
  if (gap.after) turned.before = mirrored(*gap.after);
  return turned;
}

// A record next to a gap of an object, and the idle time it would leave there.
struct Offer {
  std::uint64_t idle;
  Bytes bytes;
  Bytes object_bytes;
  std::size_t record;
  std::size_t gap;

  // The queue returns the greatest: least idle time, then larger record, larger object, earlier record.
  bool operator<(const Offer& other) const {
    return std::tie(other.idle, bytes, object_bytes, other.record, other.gap) <
           std::tie(idle, other.bytes, other.object_bytes, record, gap);
  }
};

class Sharing {
 public:
  explicit Sharing(std::span<const UsageRecord> records)
      : records_(records),
        turned_(mirror(records)),
        plan_{std::vector<std::size_t>(records.size()), {}, {}},
        placed_(records.size(), false) {}

  // Assigns every member an object. Groups come by decreasing size.
  void share(const std::vector<std::size_t>& members);
  SharedPlan finish();

 private:
  struct Gap {
    std::size_t object;
    TimeGap time;
    bool open = true;  // false once a record was put into it
  };

  void offer(std::size_t gap);
  void put(std::size_t record, std::size_t gap);
  void put_into_new(std::size_t record);
  void add_gap(std::size_t object, const TimeGap& time);
  void mark(std::size_t record, std::size_t object);

  std::span<const UsageRecord> records_;
  std::vector<UsageRecord> turned_;
  SharedPlan plan_;
  std::vector<bool> placed_;
  std::vector<Gap> gaps_;
  std::priority_queue<Offer> offers_;
  GapSearch* forward_ = nullptr;  // for the current group
  GapSearch* backward_ = nullptr;
};

// Offers the records nearest to the two sides of the gap.
void Sharing::offer(std::size_t gap) {
  const auto add = [&](std::size_t record, std::uint64_t idle) {
    const std::size_t object = gaps_[gap].object;
    offers_.push({idle, records_[record].bytes, plan_.object_bytes[object], record, gap});
  };
  const TimeGap& time = gaps_[gap].time;
  if (time.after) {
    const auto found = forward_->first_inside(time);
    if (found) add(*found, records_[*found].first - *time.after);
  }
  if (time.before) {
    const auto found = backward_->first_inside(mirror(time));
    if (found) add(*found, *time.before - records_[*found].last);
  }
}

void Sharing::add_gap(std::size_t object, const TimeGap& time) {
  gaps_.push_back({object, time});
  offer(gaps_.size() - 1);
}

void Sharing::mark(std::size_t record, std::size_t object) {
  placed_[record] = true;
  plan_.object_of[record] = object;
  plan_.object_bytes[object] = std::max(plan_.object_bytes[object], records_[record].bytes);
  forward_->take_out(record);
  backward_->take_out(record);
}

void Sharing::put(std::size_t record, std::size_t gap) {
  const Gap filled = gaps_[gap];
  gaps_[gap].open = false;
  mark(record, filled.object);
  add_gap(filled.object, {filled.time.after, records_[record].first});
  add_gap(filled.object, {records_[record].last, filled.time.before});
}

void Sharing::put_into_new(std::size_t record) {
  const std::size_t object = plan_.object_bytes.size();
  plan_.object_bytes.push_back(records_[record].bytes);
  mark(record, object);
  add_gap(object, {std::nullopt, records_[record].first});
  add_gap(object, {records_[record].last, std::nullopt});
}

void Sharing::share(const std::vector<std::size_t>& members) {
  GapSearch forward(records_, members), backward(turned_, members);
  forward_ = &forward;
  backward_ = &backward;
  offers_ = {};
  std::erase_if(gaps_, [](const Gap& gap) { return !gap.open; });
  for (std::size_t gap = 0; gap < gaps_.size(); ++gap) offer(gap);
  for (const std::size_t largest : members) {
    while (!offers_.empty()) {
      const Offer best = offers_.top();
      offers_.pop();
      if (!gaps_[best.gap].open) continue;
      if (placed_[best.record]) {
        offer(best.gap);
      } else {
        put(best.record, best.gap);
      }
    }
    if (!placed_[largest]) put_into_new(largest);
  }
}

SharedPlan Sharing::finish() {
  plan_.total = std::accumulate(plan_.object_bytes.begin(), plan_.object_bytes.end(), Bytes());
  return std::move(plan_);
}

// The last positional maximum that is at least the record's size.
std::size_t position_of(Bytes bytes, const std::vector<Bytes>& maxima) {
  const auto smaller = std::upper_bound(maxima.begin(), maxima.end(), bytes, std::greater<>());
  return static_cast<std::size_t>(smaller - maxima.begin()) - 1;
}

}  // namespace

SharedPlan share_improved(std::span<const UsageRecord> records, const TimeSlots& slots) {
  const std::vector<Bytes> maxima = positional_maxima(records, slots);
  std::vector<std::vector<std::size_t>> groups(maxima.size());
  for (const std::size_t i : order_by_size(records)) {
    groups[position_of(records[i].bytes, maxima)].push_back(i);
  }
  Sharing sharing(records);
  for (const std::vector<std::size_t>& members : groups) {
    if (!members.empty()) sharing.share(members);
  }
  return sharing.finish();
}

}  // namespace tessera
