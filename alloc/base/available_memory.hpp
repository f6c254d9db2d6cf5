// How much RAM this process can still take before the kernel's OOM killer ends a process.
//
// The kernel does not refuse in advance: memory that it has promised and cannot provide ends in the killing of
// a process, and pinned memory cannot be swapped out. Callers that pin a lot of memory check first.
//
// Thread safety: stateless. A call reads a few small files, about 100 us.
#pragma once

#include <string>

#include "base/units.hpp"

namespace tessera {

// The minimum of the kernel's MemAvailable and what the memory limits of this process's control groups (version
// 1 or 2, including all parent groups) leave. A group's reclaimable page cache counts as free. 0 if unknown.
// `root` is the folder that contains proc/ and sys/; anything but "/" is for tests.
Bytes available_memory(const std::string& root = "/");

}  // namespace tessera
