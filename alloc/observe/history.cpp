#include "observe/history.hpp"

#include <algorithm>

namespace tessera {
namespace {

// The part of `whole` in its first `share`: rounded down, but exactly `whole` for a share of 1.
std::uint64_t part_of(std::uint64_t whole, double share) {
  if (share >= 1) return whole;
  return std::min(whole, static_cast<std::uint64_t>(static_cast<double>(whole) * share));
}

template <class Value>
void merge_pairs(std::vector<Value>& values, void (*merge)(Value&, const Value&)) {
  const std::size_t pairs = (values.size() + 1) / 2;
  for (std::size_t i = 0; i < pairs; ++i) {
    Value both = values[2 * i];
    if (2 * i + 1 < values.size()) merge(both, values[2 * i + 1]);
    values[i] = both;
  }
  values.resize(pairs);
}

void merge_slots(HistorySlot& to, const HistorySlot& from) {
  for (std::size_t i = 0; i < kLinks; ++i) to.moved[i] += from.moved[i];
  for (std::size_t i = 0; i < kStallCauses; ++i) to.waited[i] += from.waited[i];
}

void merge_sums(double& to, const double& from) { to += from; }

}  // namespace

// Widens the slots until `time` falls into one of kSlots.
void History::reach(Nanoseconds time) {
  while ((time - begin_) / width_ >= kSlots) {
    width_ = width_ * 2;
    merge_pairs(slots_, merge_slots);
    for (Presence& presence : tags_) {
      for (auto& sums : presence.byte_ns) merge_pairs(sums, merge_sums);
    }
  }
  const std::size_t needed = static_cast<std::size_t>((time - begin_) / width_) + 1;
  if (slots_.size() < needed) slots_.resize(needed);
}

// Calls visit(slot, before, after) for each slot of the interval, with the cumulative shares of the interval
// before and at the end of the slot. REQUIRES: reach(end).
template <class Visit>
void History::for_each_share(Nanoseconds begin, Nanoseconds end, Visit visit) const {
  const Nanoseconds from = begin - begin_, to = end - begin_;
  const auto length = static_cast<double>((to - from).value());
  double before = 0;
  for (std::uint64_t slot = from / width_; slot <= to / width_; ++slot) {
    const Nanoseconds slot_end = std::min(width_ * (slot + 1), to);
    const bool last = slot_end == to;
    const double after = last ? 1 : static_cast<double>((slot_end - from).value()) / length;
    visit(static_cast<std::size_t>(slot), before, after);
    if (last) return;
    before = after;
  }
}

void History::add_move(Link link, Bytes bytes, Nanoseconds begin, Nanoseconds end) {
  reach(end);
  for_each_share(begin, end, [&](std::size_t slot, double before, double after) {
    slots_[slot].moved[static_cast<std::size_t>(link)] +=
        Bytes(part_of(bytes.value(), after) - part_of(bytes.value(), before));
  });
}

void History::add_stall(const StallParts& parts, Nanoseconds begin, Nanoseconds end) {
  reach(end);
  for_each_share(begin, end, [&](std::size_t slot, double before, double after) {
    for (std::size_t i = 0; i < kStallCauses; ++i) {
      const std::uint64_t time = parts[i].time.value();
      slots_[slot].waited[i] += Nanoseconds(part_of(time, after) - part_of(time, before));
    }
  });
}

History::Presence& History::presence_of(TagId tag, Nanoseconds now) {
  const auto known = std::find_if(tags_.begin(), tags_.end(),
                                  [&](const Presence& presence) { return presence.others || presence.tag == tag; });
  if (known != tags_.end()) return *known;
  tags_.push_back({tag, tags_.size() == kTags, now, {}, {}});
  return tags_.back();
}

// REQUIRES: reach(until).
void History::count(Presence& presence, Nanoseconds until) const {
  if (until <= presence.since) return;
  const auto length = static_cast<double>((until - presence.since).value());
  for (std::size_t place = 0; place < kLocations; ++place) {
    const auto bytes = static_cast<double>(presence.now[place].value());
    auto& sums = presence.byte_ns[place];
    if (sums.size() < slots_.size()) sums.resize(slots_.size());
    for_each_share(presence.since, until, [&](std::size_t slot, double before, double after) {
      sums[slot] += bytes * length * (after - before);
    });
  }
  presence.since = until;
}

void History::change_place(TagId tag, Location from, Location to, Bytes bytes, Nanoseconds now) {
  reach(now);
  Presence& presence = presence_of(tag, now);
  count(presence, now);
  const auto at = [&](Location place) -> Bytes& { return presence.now[index_of(place)]; };
  if (from != Location::kNowhere) at(from) -= bytes;
  if (to != Location::kNowhere) at(to) += bytes;
}

HistoryPicture History::picture(Nanoseconds now) const {
  History whole = *this;
  whole.reach(now);
  HistoryPicture picture{whole.width_, now - begin_, {}, {}};
  const auto length_of = [&](std::size_t slot) {
    const Nanoseconds start = picture.slot * slot;
    return start < picture.ended ? std::min(picture.slot, picture.ended - start) : Nanoseconds();
  };
  for (Presence& presence : whole.tags_) {
    whole.count(presence, now);
    TagHistory tag{presence.tag, presence.others, std::move(presence.byte_ns)};
    for (auto& sums : tag.bytes) {
      sums.resize(whole.slots_.size());
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const Nanoseconds length = length_of(i);
        sums[i] = length ? sums[i] / static_cast<double>(length.value()) : 0;
      }
    }
    picture.tags.push_back(std::move(tag));
  }
  picture.slots = std::move(whole.slots_);
  return picture;
}

}  // namespace tessera
