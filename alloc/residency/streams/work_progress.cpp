#include "residency/streams/work_progress.hpp"

namespace tessera {

void WorkProgress::note_ended(std::size_t slot, std::uint64_t count) {
  slots_[slot].ended.fetch_add(count);
  slots_[slot].quiet.store(0);
}

void WorkProgress::note_waited(std::uint64_t slots, std::uint64_t before, Nanoseconds time) {
  const bool news = ended(slots) != before;
  for (std::size_t i : SlotsIn{slots}) {
    if (news) {
      slots_[i].quiet.store(0);
    } else {
      slots_[i].quiet.fetch_add(time.value());
    }
  }
}

std::uint64_t WorkProgress::ended(std::uint64_t slots) const {
  std::uint64_t sum = 0;
  for (std::size_t i : SlotsIn{slots}) sum += slots_[i].ended.load();
  return sum;
}

}  // namespace tessera
