// The path of a launch whose pages are all present, which the compiler shall see whole.
//
// Thread safety: as residency.hpp, which includes this file and nobody else does.
#pragma once

#include "residency/residency.hpp"

namespace tessera {

inline bool all_present(Runs runs) {
  return std::ranges::all_of(runs, [](const Run* run) { return run->missing.load() == 0; });
}

inline bool Residency::has_work() const {
  return in_flight_.load(std::memory_order_relaxed) != 0 || conductor_.has_news();
}

inline void Residency::expect_use(StreamId stream) {
  if (stream == kPerThreadStream && !own_streams_.load(std::memory_order_relaxed)) expect_own_streams();
}

inline std::uint32_t Residency::slot_for_use(StreamId stream) {
  return stream == kNoStream ? 0 : streams_.slot_of(stream);
}

template <class Find>
bool Residency::try_use(Find find, StreamId stream, Access access, Use& use) {
  expect_use(stream);
  const std::uint32_t gate_slot = gate_.enter();
  const std::optional<std::span<Run* const>> runs = find();
  if (!runs || !all_present(*runs)) {
    gate_.leave(gate_slot);
    return false;
  }
  counts_.add(runs->size());
  use = {.kind = Use::Kind::kGate, .work = use.work, .gate_slot = gate_slot};
  note_use(*runs, stream, slot_for_use(stream), access, use);
  return true;
}

inline void Residency::note_use(std::span<Run* const> runs, StreamId stream, std::uint32_t slot,
                                Access access, Use& use) {
  const std::uint64_t epoch = stamp_all(runs, stream, slot, access);
  if (conductor_.log().is_on()) note_launch(runs, stream, epoch, access, use);
}

}  // namespace tessera
