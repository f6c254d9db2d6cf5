// Draws the event log as a Chrome trace, which ui.perfetto.dev and chrome://tracing open.
//
// One process per device, one track per link (in, out, file read, file write), one for stalls and
// one for marks. Moves of one link that overlap are spread over lanes, as slices of one track must
// nest.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.hpp"
#include "observe/event_log.hpp"

namespace tessera {

// `lost` is how many older events are missing; the picture says so. Time starts at the first event.
std::string timeline_json(std::span<const Event> events, std::uint64_t lost);

// Errors: kIo with the path and the reason.
Status write_timeline(const EventLog& log, const std::string& path);

}  // namespace tessera
