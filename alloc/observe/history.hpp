// The history of a whole run in bounded memory: bytes moved per link, time that calls waited per cause, and
// bytes per tag and tier, in time slots of equal width.
//
// A run has any length, so the slot width doubles whenever there are too many slots: short runs have fine
// slots, long ones coarse slots. Nothing is sampled or lost: moved bytes and waits summed over all slots equal
// the statistics, and residency is the mean over a slot.
//
// Thread safety: none; EventLog guards its own instance.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/location.hpp"
#include "observe/event.hpp"

namespace tessera {

struct HistorySlot {
  std::array<Bytes, kLinks> moved;
  std::array<Nanoseconds, kStallCauses> waited;  // summed over threads: may exceed the slot's width
};

// Mean bytes per slot in each tier (device, peer, host, file).
struct TagHistory {
  TagId tag;
  bool others = false;  // stands for all tags after the first kTags
  std::array<std::vector<double>, kLocations> bytes;
};

struct HistoryPicture {
  Nanoseconds slot;   // slot width
  Nanoseconds ended;  // since the beginning; the last slot may be partial
  std::vector<HistorySlot> slots;
  std::vector<TagHistory> tags;
};

class History {
 public:
  static constexpr std::size_t kSlots = 512;
  static constexpr std::size_t kTags = 64;

  explicit History(Nanoseconds begin) : begin_(begin) {}
  Nanoseconds begin() const { return begin_; }

  // Bytes and waits are spread evenly over their duration. REQUIRES: begin <= end, and begin not before this
  // history began.
  void add_move(Link link, Bytes bytes, Nanoseconds begin, Nanoseconds end);
  void add_stall(const StallParts& parts, Nanoseconds begin, Nanoseconds end);
  // Moves bytes of a tag between tiers. REQUIRES: `now` is not before an earlier change of the tag.
  void change_place(TagId tag, Location from, Location to, Bytes bytes, Nanoseconds now);

  HistoryPicture picture(Nanoseconds now) const;

 private:
  struct Presence {
    TagId tag;
    bool others = false;
    Nanoseconds since;  // byte_ns is complete up to here
    std::array<Bytes, kLocations> now;
    std::array<std::vector<double>, kLocations> byte_ns;  // up to kSlots each
  };

  void reach(Nanoseconds time);
  template <class Visit>
  void for_each_share(Nanoseconds begin, Nanoseconds end, Visit visit) const;
  void count(Presence& presence, Nanoseconds until) const;
  Presence& presence_of(TagId tag, Nanoseconds now);

  const Nanoseconds begin_;
  Nanoseconds width_{1'000'000};
  std::vector<HistorySlot> slots_;  // up to the last slot with activity
  std::vector<Presence> tags_;
};

}  // namespace tessera
