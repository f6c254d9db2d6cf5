// Text that may be compressed with zstd; a build without the library says so when it meets some.
//
// Thread safety: stateless.
#pragma once

#include <istream>
#include <string>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

inline constexpr Bytes kMaxUnpacked = 4_GiB;

// Whether a zstd frame starts here; the stream stays where it was.
bool is_zstd(std::istream& in);
// All of it. Errors: kInvalidArgument when it is damaged or has more than kMaxUnpacked;
// kNotSupported in a build without zstd.
Result<std::string> unpack_zstd(std::istream& in, const std::string& name);

}  // namespace tessera
