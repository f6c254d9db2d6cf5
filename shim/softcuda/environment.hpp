// What kind of software device the environment asks for; read once, here and nowhere else.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera::softcuda {

// What the driver tells about the parameters of kernels. All but the first are unlike any known driver.
enum class Parameters {
  kTold,     // everything; a handle of the other kind is an invalid handle
  kMixed,    // everything; a handle of the other kind has "no such parameter"
  kFirst,    // the first parameter; the next query fails
  kRefused,  // nothing: queries fail
  kHidden,   // nothing, and kernel nodes of graphs do not tell theirs either
};

struct Environment {
  Bytes memory = 1_GiB;             // TESSERA_SOFTWARE_MEMORY, of each device
  int devices = 1;                  // TESSERA_SOFTWARE_DEVICES
  std::uint64_t bandwidth = 0;      // TESSERA_SOFTWARE_BANDWIDTH, bytes per second; 0: memcpy's
  std::uint64_t pinning = 10'000'000'000;  // TESSERA_SOFTWARE_PINNING, bytes of host memory per second; 0: no time
  bool virtual_memory = true;       // TESSERA_SOFTWARE_VMM=0: a machine without it
  bool host_frames = true;          // TESSERA_SOFTWARE_HOST_FRAMES=0: no host memory behind addresses
  Parameters parameters = Parameters::kTold;  // TESSERA_SOFTWARE_PARAMETERS
  bool hints = true;                // TESSERA_SOFTWARE_HINTS=0: cuMemAddressReserve ignores its hint
  bool aligns = true;               // TESSERA_SOFTWARE_ALIGNS=0: and alignments beyond the granularity
  Bytes context_memory{};           // TESSERA_SOFTWARE_CONTEXT, device memory of each context that is in use
  Bytes module_memory{};            // TESSERA_SOFTWARE_MODULE, of each module that is loaded
  Bytes local_memory{};             // TESSERA_SOFTWARE_LOCAL, of a context from its first launch on
  bool future = false;              // TESSERA_SOFTWARE_FUTURE=1: a driver beyond the newest CUDA that we know
  bool verbose = false;             // TESSERA_SOFTWARE_VERBOSE=1: report unsupported calls at exit
};

// Errors: kInvalidArgument naming the variable whose value cannot be meant.
Result<Environment> read_environment();

// "96MiB", "1GiB", "4096": a size. Errors: kInvalidArgument.
Result<Bytes> parse_size(const std::string& text);

}  // namespace tessera::softcuda
