// How many threads this process can still start.
//
// Thread safety: stateless. A call reads a few small files, about 100 us.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

// What the pids.max limits of this process's control groups leave, including all parent groups; UINT64_MAX
// without a limit. `root` is the folder that contains proc/ and sys/; anything but "/" is for tests.
std::uint64_t available_tasks(const std::string& root = "/");

}  // namespace tessera
