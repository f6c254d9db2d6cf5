// How many threads this process may still start.
//
// Thread safety: stateless. A call reads a few small files: some 100 us.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

// What the limits on tasks of its control groups leave (pids.max, with those they lie in); UINT64_MAX without one.
// `root` is the folder that has proc/ and sys/: "/" but for tests.
std::uint64_t available_tasks(const std::string& root = "/");

}  // namespace tessera
