#include "api/size_or_share.hpp"

#include <charconv>

#include <fmt/core.h>

#include "base/size_text.hpp"

namespace tessera {

Result<SizeOrShare> parse_size_or_share(std::string_view text) {
  if (!text.ends_with('%')) {
    TESSERA_TRY_ASSIGN(const Bytes bytes, parse_size(text));
    return SizeOrShare(bytes);
  }
  const std::string_view number = text.substr(0, text.size() - 1);
  SizeOrShare share;
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, share.percent);
  if (parsed.ec != std::errc{} || parsed.ptr != end || share.percent == 0 || share.percent > 100) {
    return Status(Code::kInvalidArgument, fmt::format("'{}' is not a share; write 1% to 100%", text));
  }
  return share;
}

std::string size_or_share_text(const SizeOrShare& value) {
  return value.percent == 0 ? size_text(value.bytes) : fmt::format("{}%", value.percent);
}

}  // namespace tessera
