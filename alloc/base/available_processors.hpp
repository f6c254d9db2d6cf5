// How many of the machine's processors this process may use.
//
// A container often has a CPU quota: when it is used up, all threads of the group stop until the next period,
// including the program's own. Background work therefore sizes itself by the quota, not by the machine.
//
// Thread safety: stateless. A call reads a few small files, about 100 us.
#pragma once

#include <string>

namespace tessera {

// The minimum of the calling thread's affinity mask and the CPU quotas of its control groups (version 1 or 2,
// including all parent groups). 0.5 is half a processor. At least 0.01. `root` is the folder that contains
// proc/ and sys/; anything but "/" is for tests.
double available_processors(const std::string& root = "/");

}  // namespace tessera
