// Text that may be compressed with gzip or zstd. A build without the library reports that when it meets such text.
//
// A file without its end, because its writer was killed or the disk was full, yields what is there.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

inline constexpr Bytes kMaxUnpacked = 4_GiB;

enum class Packing { kNone, kGzip, kZstd };
// Determined by the first bytes.
Packing packing_of(std::string_view data);

struct UnpackedText {
  std::string text;
  bool cut = false;  // the end is missing
};
// Errors: kInvalidArgument when it is damaged before its end, or larger than kMaxUnpacked; kNotSupported in a build
// without the library; kOutOfMemory. REQUIRES: packing is not kNone.
Result<UnpackedText> unpack(std::string_view data, Packing packing);

}  // namespace tessera
