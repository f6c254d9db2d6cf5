// Parses and prints human-readable sizes: "512MiB", "4GiB", "80GB", "1048576".
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

// A number, possibly with a fraction, and a unit: none or B for bytes, KiB MiB GiB TiB for powers of 1024, KB
// MB GB TB for powers of 1000. Case does not matter, and blanks may separate the two. Errors: kInvalidArgument,
// with examples of accepted values.
Result<Bytes> parse_size(std::string_view text);

// The shortest text that parse_size reads back as exactly `bytes`: "512MiB", "1000003".
std::string size_text(Bytes bytes);

// For messages: about three digits and a unit, "1.50 GiB".
std::string rounded_size(Bytes bytes);

}  // namespace tessera
