// How much of the machine's processors this process may use.
//
// A container is often held to a quota: above it all threads of the group stand still until the next period, those of
// the program too. So work beside the program takes what the quota leaves, not what the machine has.
//
// Thread safety: stateless. A call reads a few small files: some 100 us.
#pragma once

#include <string>

namespace tessera {

// The least of the processors that this thread may run on and the quotas of its control groups (version 1 or 2, with
// those they lie in): 0.5 is half of one. At least 0.01. `root` is the folder that has proc/ and sys/: "/" but for
// tests.
double available_processors(const std::string& root = "/");

}  // namespace tessera
