#include "base/size_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

namespace tessera {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

// Binary units first and ascending: size_text and rounded_size walk them backwards.
constexpr std::array kUnits = {
    Unit{"B", 1},
    Unit{"KiB", 1ull << 10},
    Unit{"MiB", 1ull << 20},
    Unit{"GiB", 1ull << 30},
    Unit{"TiB", 1ull << 40},
    Unit{"KB", 1000ull},
    Unit{"MB", 1000'000ull},
    Unit{"GB", 1000'000'000ull},
    Unit{"TB", 1000'000'000'000ull},
};
constexpr std::size_t kBinaryUnits = 5;

bool same_letters(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

Status refused(std::string_view text) {
  return Status(Code::kInvalidArgument,
                fmt::format("'{}' is not a size; write 512MiB, 4GiB, 80GB or a number of bytes", text));
}

std::uint64_t unit_bytes(std::string_view name) {
  if (name.empty()) return 1;
  for (const Unit& unit : kUnits) {
    if (same_letters(unit.name, name)) return unit.bytes;
  }
  return 0;
}

}  // namespace

Result<Bytes> parse_size(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  std::string_view name = text.substr(digits);
  while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
  const std::uint64_t unit = unit_bytes(name);
  if (number.empty() || unit == 0) return refused(text);

  std::uint64_t whole = 0;
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, whole);
  if (parsed.ec != std::errc{}) return refused(text);
  double fraction = 0;
  if (parsed.ptr != end) {
    const auto rest = std::from_chars(parsed.ptr, end, fraction, std::chars_format::fixed);
    if (rest.ec != std::errc{} || rest.ptr != end) return refused(text);
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(whole, unit, &bytes)) return refused(text);
  const auto part = static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(unit)));
  if (__builtin_add_overflow(bytes, part, &bytes)) return refused(text);
  return Bytes(bytes);
}

std::string size_text(Bytes bytes) {
  for (std::size_t i = kBinaryUnits - 1; i > 0; --i) {
    if (bytes && bytes.value() % kUnits[i].bytes == 0) {
      return fmt::format("{}{}", bytes.value() / kUnits[i].bytes, kUnits[i].name);
    }
  }
  return fmt::format("{}", bytes.value());
}

std::string rounded_size(Bytes bytes) {
  std::size_t i = kBinaryUnits - 1;
  while (i > 0 && bytes.value() < kUnits[i].bytes) --i;
  if (i == 0) return fmt::format("{} B", bytes.value());
  const double amount = static_cast<double>(bytes.value()) / static_cast<double>(kUnits[i].bytes);
  const int decimals = amount < 10 ? 2 : amount < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", amount, decimals, kUnits[i].name);
}

}  // namespace tessera
