// The limits that a shell, a service manager or a container sets for this process.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>

// Optional fields are empty if there is no limit.
struct LimitFacts {
  double processors = 1;                      // tessera_available_processors()
  double all_processors = 1;                  // of the machine
  std::uint64_t memory = 0;                   // tessera_available_memory()
  std::uint64_t free_memory = 0;              // available on the machine
  std::optional<std::uint64_t> addresses{};   // ulimit -v, bytes
  std::optional<std::uint64_t> file_bytes{};  // ulimit -f, bytes
  std::optional<std::uint64_t> open_files{};  // ulimit -n
  std::optional<std::uint64_t> tasks{};       // remaining under pids.max and ulimit -u
};
LimitFacts probe_limits();
