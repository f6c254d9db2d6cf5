// The machine that a trace is replayed on, and options of the replay.
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
#include "sim/measured_calls.hpp"

namespace tessera {

struct ReplayOptions {
  std::string policy = "auto";
  Bytes device_memory{};  // of each device; 0: as in the trace's header, or else its liveness peak
  Bytes host_memory = 64_GiB;
  Bytes file_memory{};
  Bytes peer_memory{};        // lent to the others by devices that the trace does not use, in equal parts
  std::uint32_t lenders = 1;  // so many, each with a link of its own
  // Bytes per second of each direction.
  std::uint64_t h2d = 25'000'000'000;
  std::uint64_t d2h = 25'000'000'000;
  std::uint64_t file_read = 6'000'000'000;
  std::uint64_t file_write = 3'000'000'000;
  std::uint64_t peer_rate = 100'000'000'000;
  // SimCallTimes.
  Nanoseconds mapping_time = kMeasuredCalls.mapping;
  Nanoseconds copy_turn = kMeasuredCalls.copy_turn;
  Nanoseconds frame_time = kMeasuredCalls.frame;
  Nanoseconds launch_time{};  // of the program, before each operation
  bool host_frames = true;    // false: host memory cannot be mapped at device addresses
  std::uint32_t iterations = 1;
  std::uint64_t seed = 0;    // for randomised policies
  bool unseen_work = false;  // as in a program with uses derived from its launches instead of announced
  bool unhinted = true;      // with unseen work: the option unhinted-access is auto, not off
  bool extents = true;       // false: as in a program that names whole blocks, whatever parts its operations use
  Bytes handles{};           // of so many bytes each are blocks that operations use in parts; 0: they are allocated
  std::string timeline;      // file to write it to; "" for none

  // Sum over all links of a device, and over all memory outside of it except the file.
  std::uint64_t in_rate() const { return h2d + (peer_memory ? lenders * peer_rate : 0); }
  std::uint64_t out_rate() const { return d2h + (peer_memory ? lenders * peer_rate : 0); }
  Bytes beside() const { return host_memory + peer_memory; }

  // Errors: kNotFound for an unknown option; kInvalidArgument with what would be accepted.
  Status set(std::string_view name, std::string_view value);
};

}  // namespace tessera
