// Renders the event log as a Chrome trace, which ui.perfetto.dev and chrome://tracing open.
//
// One process per device, one track per link (in, out, file read, file write), one for stalls and one for
// marks. Overlapping moves on one link are spread over lanes, because slices of one track must nest. Callers
// can add tracks of their own: a replay adds one per stream and per link.
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

// A slice of a track supplied by the caller. REQUIRES: the strings behind its names outlive it.
struct TrackSlice {
  std::uint16_t device = 0;
  std::string_view track;
  Nanoseconds begin;
  Nanoseconds end;
  std::string_view name;
  Bytes bytes;  // bytes moved, if any
};

// `lost` is the number of older events that were overwritten; the trace states it. Time starts at the earliest
// event or slice. REQUIRES: slices of one track do not overlap.
std::string timeline_json(std::span<const Event> events, std::uint64_t lost, std::span<const TrackSlice> slices = {});

std::string timeline_json(const EventLog& log, std::span<const TrackSlice> slices = {});

// Errors: kIo with the path and the reason.
Status write_timeline(const EventLog& log, const std::string& path, std::span<const TrackSlice> slices = {});

}  // namespace tessera
