#include "plot_ticks.hpp"

#include <cmath>
#include <iterator>

#include <fmt/core.h>

namespace {

// The smallest round step that gives few enough ticks up to `high`: 1, 2 or 5 times a power of ten ...
double decimal_step(double high) {
  constexpr double kMost = 8;
  const double power = std::pow(10, std::floor(std::log10(high / kMost)));
  for (const double part : {1.0, 2.0, 5.0}) {
    if (high / (power * part) <= kMost) return power * part;
  }
  return power * 10;
}
// ... or a power of two.
double binary_step(double high) {
  constexpr double kMost = 5;
  return std::exp2(std::ceil(std::log2(high / kMost)));
}

template <class Name>
Ticks multiples(double step, double high, Name name) {
  Ticks ticks;
  for (int i = 0; i * step <= high; ++i) ticks.emplace_back(i * step, name(i * step));
  return ticks;
}

// Omits zeros that a round number does not need.
std::string bytes_of_tick(double bytes, std::string_view per) {
  if (bytes == 0) return "0";
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{:g} {}{}", bytes, kUnits[unit], per);
}
std::string seconds_of_tick(double seconds) {
  if (seconds == 0) return "0";
  if (seconds >= 1) return fmt::format("{:g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:g} ms", seconds * 1e3) : fmt::format("{:g} us", seconds * 1e6);
}

}  // namespace

Ticks ticks_of_seconds(double high) { return multiples(decimal_step(high), high, seconds_of_tick); }

Ticks ticks_of_bytes(double high, std::string_view per) {
  return multiples(binary_step(high), high, [per](double at) { return bytes_of_tick(at, per); });
}

Ticks ticks_of_shares(double high) {
  return multiples(binary_step(high), high, [](double at) { return fmt::format("{:.0f} %", 100 * at); });
}
