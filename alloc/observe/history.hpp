// What happened over a whole run, in bounded memory: what moved on each link, what calls waited for, and
// how many bytes of each tag were where, in equal slots of time.
//
// A run has any length, so slots double in width whenever there are too many: what is short is seen
// closely, what is long from further away. Nothing is sampled and nothing is lost: over all slots the
// bytes and the waits add up to the statistics, and what lay somewhere is the mean over its slot.
//
// Thread safety: none; EventLog guards its own.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "observe/event.hpp"

namespace tessera {

struct HistorySlot {
  std::array<Bytes, kLinks> moved;
  std::array<Nanoseconds, kStallCauses> waited;  // of all threads: may be more than the slot is long
};

// Mean bytes in each slot, of each place (device, host, file).
struct TagHistory {
  TagId tag;
  bool others = false;  // of all tags after the first kTags
  std::array<std::vector<double>, kPlaces> bytes;
};

struct HistoryPicture {
  Nanoseconds slot;   // width
  Nanoseconds ended;  // since the beginning; the last slot may be a part of one
  std::vector<HistorySlot> slots;
  std::vector<TagHistory> tags;
};

class History {
 public:
  static constexpr std::size_t kSlots = 512;
  static constexpr std::size_t kTags = 64;

  explicit History(Nanoseconds begin) : begin_(begin) {}

  // Bytes and waits are spread evenly over the time they took. REQUIRES: begin <= end, after ours.
  void add_move(Link link, Bytes bytes, Nanoseconds begin, Nanoseconds end);
  void add_stall(const StallParts& parts, Nanoseconds begin, Nanoseconds end);
  // Bytes of a tag change their place. REQUIRES: no time before that of an earlier change of the tag.
  void change_place(TagId tag, Nearest from, Nearest to, Bytes bytes, Nanoseconds now);

  HistoryPicture picture(Nanoseconds now) const;

 private:
  struct Presence {
    TagId tag;
    bool others = false;
    Nanoseconds since;  // counted up to here
    std::array<Bytes, kPlaces> now;
    std::array<std::vector<double>, kPlaces> byte_ns;  // up to kSlots each
  };

  void reach(Nanoseconds time);
  template <class Visit>
  void for_each_share(Nanoseconds begin, Nanoseconds end, Visit visit) const;
  void count(Presence& presence, Nanoseconds until) const;
  Presence& presence_of(TagId tag, Nanoseconds now);

  const Nanoseconds begin_;
  Nanoseconds width_{1'000'000};
  std::vector<HistorySlot> slots_;  // as far as something happened
  std::vector<Presence> tags_;
};

}  // namespace tessera
