// The configuration of the software device, from the environment; read here and nowhere else.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera::softcuda {

// How much of kernel parameters the driver reveals. Only the first value resembles a known driver.
enum class Parameters {
  kTold,     // everything; a handle of the other kind is invalid
  kMixed,    // everything; a handle of the other kind gives "no such parameter"
  kFirst,    // only the first parameter; the next query fails
  kRefused,  // nothing: queries fail
  kHidden,   // nothing, and graph nodes hide their parameters as well
};

struct Environment {
  Bytes memory = 1_GiB;                       // TESSERA_SOFTWARE_MEMORY, of each device
  int devices = 1;                            // TESSERA_SOFTWARE_DEVICES
  std::uint64_t multiprocessors = 1;          // TESSERA_SOFTWARE_MULTIPROCESSORS, split by green contexts
  std::uint64_t bandwidth = 0;                // TESSERA_SOFTWARE_BANDWIDTH, bytes per second; 0: memcpy's
  std::uint64_t pinning = 10'000'000'000;     // TESSERA_SOFTWARE_PINNING, bytes of host memory per second; 0: no time
  Bytes pinned{};                             // TESSERA_SOFTWARE_PINNED, host memory that may be pinned; 0: no bound
  bool virtual_memory = true;                 // TESSERA_SOFTWARE_VMM=0: a machine without it
  bool host_frames = true;                    // TESSERA_SOFTWARE_HOST_FRAMES=0: no host memory behind addresses
  Parameters parameters = Parameters::kTold;  // TESSERA_SOFTWARE_PARAMETERS
  bool hints = true;                          // TESSERA_SOFTWARE_HINTS=0: cuMemAddressReserve ignores its hint
  bool aligns = true;      // TESSERA_SOFTWARE_ALIGNS=0: ignores alignments beyond the granularity too
  Bytes context_memory{};  // TESSERA_SOFTWARE_CONTEXT, device memory of each active context
  Bytes module_memory{};   // TESSERA_SOFTWARE_MODULE, device memory of each loaded module
  Bytes local_memory{};    // TESSERA_SOFTWARE_LOCAL, device memory of a context from its first launch on
  bool future = false;     // TESSERA_SOFTWARE_FUTURE=1: a driver newer than the newest CUDA that we know
  std::string shared{};    // TESSERA_SOFTWARE_SHARED, name of devices that several processes share; "": its own
  bool verbose = false;    // TESSERA_SOFTWARE_VERBOSE=1: report unsupported calls at exit
};

// Errors: kInvalidArgument, naming the variable with the invalid value.
Result<Environment> read_environment();

// Parses a size: "96MiB", "1GiB", "4096". Errors: kInvalidArgument.
Result<Bytes> parse_size(const std::string& text);

}  // namespace tessera::softcuda
