// Which machine a trace is replayed on, and how.
//
// Names are those of the command line ("device-memory", "h2d"); docs/replay.md lists them.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct ReplayOptions {
  std::string policy = "auto";
  Bytes device_memory{};  // of each device; 0 means the trace's header, or else its liveness peak
  Bytes host_memory = 64_GiB;
  Bytes file_memory{};
  // Bytes per second of each direction.
  std::uint64_t h2d = 25'000'000'000;
  std::uint64_t d2h = 25'000'000'000;
  std::uint64_t file_read = 6'000'000'000;
  std::uint64_t file_write = 3'000'000'000;
  std::uint32_t iterations = 1;
  std::uint64_t seed = 0;  // for policies that draw lots
  std::string timeline;    // file to write it to; "": none

  // Errors: kNotFound for no such option; kInvalidArgument with what would be taken.
  Status set(std::string_view name, std::string_view value);
};

}  // namespace tessera
