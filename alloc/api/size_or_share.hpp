// A size, or a share of the total, as options take them: "4GiB", "80%".
//
// Thread safety: a value.
//
// Invariants: percent is at most 100; `bytes` is unused if percent is not 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct SizeOrShare {
  Bytes bytes;
  std::uint32_t percent = 0;  // of the total; 0: `bytes` is the size

  SizeOrShare() = default;
  SizeOrShare(Bytes size) : bytes(size) {}
  friend bool operator==(const SizeOrShare&, const SizeOrShare&) = default;

  Bytes of(Bytes all) const { return percent == 0 ? bytes : all / 100 * percent + all % Bytes(100) * percent / 100; }
};

// As parse_size(), or a whole number from 1 to 100 and '%'. Errors: kInvalidArgument, with what would be accepted.
Result<SizeOrShare> parse_size_or_share(std::string_view text);
// Text that parse_size_or_share() reads back as the same value.
std::string size_or_share_text(const SizeOrShare& value);

}  // namespace tessera
