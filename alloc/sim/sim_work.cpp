#include "sim/sim_work.hpp"

#include <cstring>

#include <fmt/core.h>

#include "driver/native_codes.hpp"

namespace tessera {

Status violation(std::string message) { return {Code::kDriver, std::move(message), native::kInvalidValue}; }

std::string SimRange::to_string() const { return fmt::format("[{:#x}, {:#x})", start, end()); }

std::optional<std::string> SimWork::touch(const SimRange& range) const {
  for (const SimRange& own : ranges) {
    if (own.overlaps(range)) return fmt::format("{} of {}", name, own.to_string());
  }
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= parameters.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, parameters.data() + at, sizeof(word));
    if (range.holds(word)) {
      return fmt::format("kernel {} with {:#x} at parameter offset {}", name, word, at);
    }
  }
  return std::nullopt;
}

}  // namespace tessera
