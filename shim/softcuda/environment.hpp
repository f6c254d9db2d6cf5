// What kind of software device the environment asks for; read once, here and nowhere else.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera::softcuda {

// What is told of the parameters of kernels: by drivers, and by stand-ins for drivers that tell less.
enum class Parameters {
  kTold,     // all, to queries for the handle's own kind; other kinds are invalid handles
  kMixed,    // all; of another kind's handle, that there is no such parameter
  kFirst,    // the first one; then queries fail
  kRefused,  // none: queries fail
  kHidden,   // none, also not by kernel nodes of graphs
};

struct Environment {
  Bytes memory = 1_GiB;             // TESSERA_SOFTWARE_MEMORY, of each device
  int devices = 1;                  // TESSERA_SOFTWARE_DEVICES
  std::uint64_t bandwidth = 0;      // TESSERA_SOFTWARE_BANDWIDTH, bytes per second; 0: memcpy's
  bool virtual_memory = true;       // TESSERA_SOFTWARE_VMM=0: a machine without it
  bool host_frames = true;          // TESSERA_SOFTWARE_HOST_FRAMES=0: no host memory behind addresses
  Parameters parameters = Parameters::kTold;  // TESSERA_SOFTWARE_PARAMETERS
  bool verbose = false;             // TESSERA_SOFTWARE_VERBOSE=1: report unsupported calls at exit
};

// Errors: kInvalidArgument naming the variable whose value cannot be meant.
Result<Environment> read_environment();

// "96MiB", "1GiB", "4096": a size. Errors: kInvalidArgument.
Result<Bytes> parse_size(const std::string& text);

}  // namespace tessera::softcuda
