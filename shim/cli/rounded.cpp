#include "rounded.hpp"

#include <fmt/core.h>

namespace {

std::string three_digits(double amount, const char* unit) {
  return fmt::format("{:.{}f} {}", amount, amount < 10 ? 2 : amount < 100 ? 1 : 0, unit);
}

}  // namespace

std::string rounded_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  return three_digits(amount, kUnits[unit]);
}

std::string rounded_seconds(double seconds) {
  if (seconds >= 1) return three_digits(seconds, "s");
  return seconds >= 1e-3 || seconds == 0 ? three_digits(seconds * 1e3, "ms") : three_digits(seconds * 1e6, "us");
}
