// How much RAM this process may still take without somebody being killed for it.
//
// Why not the kernel's own answer: none is given. Memory that is promised and not there ends in the
// killing of a process, and pinned memory cannot be swapped out; so whoever takes much of it asks first.
//
// Thread safety: stateless. A call reads a few small files: some 100 us.
#pragma once

#include <string>

#include "base/units.hpp"

namespace tessera {

// The least of what the kernel says is available and what the limits of this process's control groups
// (version 1 or 2, with those they lie in) leave; what a group's page cache can give up counts as left.
// 0 if unknown. `root` is the folder that has proc/ and sys/: "/" but for tests.
Bytes available_memory(const std::string& root = "/");

}  // namespace tessera
