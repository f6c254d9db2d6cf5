// Parses and prints human-readable durations: "500ms", "90s", "5m", "2h", "off".
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

// A whole number and a unit: ms, s, m (minutes) or h. "off" and "0" are zero. At most a year. Errors: kInvalidArgument,
// with examples of accepted values.
Result<Nanoseconds> parse_duration(std::string_view text);

// The shortest text that parse_duration reads back as exactly `duration`: "5m", "1500ms"; "off" for zero. REQUIRES:
// whole milliseconds.
std::string duration_text(Nanoseconds duration);

}  // namespace tessera
