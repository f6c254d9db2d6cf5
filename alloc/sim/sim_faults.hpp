// Turns a fault of a kernel into a value, as a GPU does, while every other fault stays a fault.
//
// A kernel of the simulated device is host code; when it accesses an address without a mapping, the system sends
// SIGSEGV or SIGBUS to the engine thread. A handler, installed at the first launch, leaves the kernel by siglongjmp. A
// fault on any other thread, or outside of a kernel, is passed to the previous handler, or gets the system's default
// action. Any address counts, not only reserved ones: on a GPU, a null pointer or a freed one is the same error.
//
// Thread safety: each thread guards its own calls.
//
// Bounds: 1024 threads that guard calls at a time; a kernel's fault on any further thread stays a fault.
//
// Invariants: the handler is installed at most once per process and never removed, since another handler may have
// chained to it.
#pragma once

#include <cstdint>
#include <optional>

namespace tessera {

struct SimFault {
  int signal = 0;
  std::uint64_t address = 0;
};

// Runs function(argument). Returns the fault that ended it early, if one did; destructors between
// the fault and here do not run. REQUIRES: not nested.
std::optional<SimFault> run_guarded(void (*function)(void*), void* argument);

}  // namespace tessera
