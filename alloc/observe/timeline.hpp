// Draws the event log as a Chrome trace, which ui.perfetto.dev and chrome://tracing open.
//
// One process per device, one track per link (in, out, file read, file write), one for stalls and
// one for marks. Moves of one link that overlap are spread over lanes, as slices of one track must
// nest. Above them is a track for each stream, where somebody knows what ran there when: a replay does.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "observe/event_log.hpp"

namespace tessera {

// What a stream did from then to then. REQUIRES: the name outlives it.
struct StreamSlice {
  std::uint16_t device = 0;
  std::uint64_t stream = 0;  // as it shall be called
  Nanoseconds begin;
  Nanoseconds end;
  std::string_view name;
};

// `lost` is how many older events are missing; the picture says so. Time starts with what comes first.
// REQUIRES: slices of one stream do not overlap.
std::string timeline_json(std::span<const Event> events, std::uint64_t lost,
                          std::span<const StreamSlice> streams = {});

// Errors: kIo with the path and the reason.
Status write_timeline(const EventLog& log, const std::string& path,
                      std::span<const StreamSlice> streams = {});

}  // namespace tessera
