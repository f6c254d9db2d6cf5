#include "environment.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace tessera::softcuda {
namespace {

Status not_meant(const char* name, const char* value) {
  return Status(Code::kInvalidArgument, fmt::format("{}={}: invalid value", name, value));
}

// Parses a number with an optional binary or decimal unit; also accepts "25e9".
Result<double> parse_number(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || errno != 0 || !(number >= 0)) {
    return Status(Code::kInvalidArgument, fmt::format("'{}' is not a size", text));
  }
  constexpr std::pair<const char*, double> kUnits[] = {
      {"", 1},         {"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
      {"TiB", 0x1p40}, {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12}};
  for (const auto& [unit, factor] : kUnits) {
    if (unit == std::string(end) && number * factor < 0x1p60) return number * factor;
  }
  return Status(Code::kInvalidArgument, fmt::format("'{}' has an unknown unit", text));
}

Status read_size(const char* name, std::uint64_t& target) {
  const char* value = std::getenv(name);
  if (value == nullptr) return Status::ok();
  const auto number = parse_number(value);
  if (!number.is_ok()) return not_meant(name, value);
  target = static_cast<std::uint64_t>(number.value());
  return Status::ok();
}

Status read_size(const char* name, Bytes& target) {
  std::uint64_t bytes = target.value();
  TESSERA_TRY(read_size(name, bytes));
  target = Bytes(bytes);
  return Status::ok();
}

Status read_switch(const char* name, bool& target) {
  const char* value = std::getenv(name);
  if (value == nullptr) return Status::ok();
  if (value != std::string("0") && value != std::string("1")) return not_meant(name, value);
  target = value[0] == '1';
  return Status::ok();
}

Status read_parameters(Parameters& target) {
  constexpr const char* kName = "TESSERA_SOFTWARE_PARAMETERS";
  constexpr std::string_view kValues[] = {"told", "mixed", "first", "refused", "hidden"};
  const char* const value = std::getenv(kName);
  if (value == nullptr) return Status::ok();
  const auto* const known = std::find(std::begin(kValues), std::end(kValues), value);
  if (known == std::end(kValues)) return not_meant(kName, value);
  target = static_cast<Parameters>(known - std::begin(kValues));
  return Status::ok();
}

}  // namespace

Result<Bytes> parse_size(const std::string& text) {
  TESSERA_TRY_ASSIGN(const double number, parse_number(text));
  return Bytes(static_cast<std::uint64_t>(number));
}

Result<Environment> read_environment() {
  Environment environment;
  std::uint64_t memory = environment.memory.value();
  std::uint64_t devices = 1;
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_MEMORY", memory));
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_DEVICES", devices));
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_MULTIPROCESSORS", environment.multiprocessors));
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_BANDWIDTH", environment.bandwidth));
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_PINNING", environment.pinning));
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_PINNED", environment.pinned));
  TESSERA_TRY(read_switch("TESSERA_SOFTWARE_VMM", environment.virtual_memory));
  TESSERA_TRY(read_switch("TESSERA_SOFTWARE_HOST_FRAMES", environment.host_frames));
  TESSERA_TRY(read_parameters(environment.parameters));
  TESSERA_TRY(read_switch("TESSERA_SOFTWARE_HINTS", environment.hints));
  TESSERA_TRY(read_switch("TESSERA_SOFTWARE_ALIGNS", environment.aligns));
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_CONTEXT", environment.context_memory));
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_MODULE", environment.module_memory));
  TESSERA_TRY(read_size("TESSERA_SOFTWARE_LOCAL", environment.local_memory));
  TESSERA_TRY(read_switch("TESSERA_SOFTWARE_FUTURE", environment.future));
  TESSERA_TRY(read_switch("TESSERA_SOFTWARE_VERBOSE", environment.verbose));
  if (const char* const name = std::getenv("TESSERA_SOFTWARE_SHARED")) environment.shared = name;
  if (devices > 64) return not_meant("TESSERA_SOFTWARE_DEVICES", "more than 64");
  if (environment.multiprocessors == 0 || environment.multiprocessors > 1024) {
    return not_meant("TESSERA_SOFTWARE_MULTIPROCESSORS", "none, or more than 1024");
  }
  environment.memory = Bytes(memory);
  environment.devices = static_cast<int>(devices);
  return environment;
}

}  // namespace tessera::softcuda
