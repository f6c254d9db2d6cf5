// Draws the event log as a Chrome trace, which ui.perfetto.dev and chrome://tracing open.
//
// One process per device, one track per link (in, out, file read, file write), one for stalls and
// one for marks. Moves of one link that overlap are spread over lanes, as slices of one track must
// nest. Above them are tracks of whoever knows more: a replay what ran when on each stream and each link.
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

// What went on in a track of its own. REQUIRES: what its names name outlives it.
struct TrackSlice {
  std::uint16_t device = 0;
  std::string_view track;
  Nanoseconds begin;
  Nanoseconds end;
  std::string_view name;
  Bytes bytes;  // that it moved, if any
};

// `lost` is how many older events are missing; the picture says so. Time starts with what comes first.
// REQUIRES: slices of one track do not overlap.
std::string timeline_json(std::span<const Event> events, std::uint64_t lost,
                          std::span<const TrackSlice> slices = {});

std::string timeline_json(const EventLog& log, std::span<const TrackSlice> slices = {});

// Errors: kIo with the path and the reason.
Status write_timeline(const EventLog& log, const std::string& path,
                      std::span<const TrackSlice> slices = {});

}  // namespace tessera
