#include "base/duration_text.hpp"

#include <array>
#include <charconv>

#include <fmt/core.h>

namespace tessera {
namespace {

struct TimeUnit {
  std::string_view name;
  std::uint64_t milliseconds;
};

// Largest first: duration_text takes the first that divides.
constexpr std::array kTimeUnits = {TimeUnit{"h", 3'600'000}, TimeUnit{"m", 60'000}, TimeUnit{"s", 1000},
                                   TimeUnit{"ms", 1}};
constexpr std::uint64_t kNanosecondsInOne = 1'000'000;
constexpr std::uint64_t kMostMilliseconds = std::uint64_t{366} * 24 * 3'600'000;

}  // namespace

Result<Nanoseconds> parse_duration(std::string_view text) {
  if (text == "off" || text == "0") return Nanoseconds();
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view name = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
  for (const TimeUnit& unit : kTimeUnits) {
    if (parsed.ec != std::errc{} || name != unit.name || number > kMostMilliseconds / unit.milliseconds) continue;
    return Nanoseconds(number * unit.milliseconds * kNanosecondsInOne);
  }
  return Status(Code::kInvalidArgument, fmt::format("'{}' is not a duration; write 90s, 5m, 2h or off", text));
}

std::string duration_text(Nanoseconds duration) {
  const std::uint64_t milliseconds = duration.value() / kNanosecondsInOne;
  if (milliseconds == 0) return "off";
  for (const TimeUnit& unit : kTimeUnits) {
    if (milliseconds % unit.milliseconds == 0) return fmt::format("{}{}", milliseconds / unit.milliseconds, unit.name);
  }
  return "off";
}

}  // namespace tessera
