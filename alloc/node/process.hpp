// Which process a row of the ledger belongs to, and whether that process still exists.
//
// A process id alone is reused, so a process is identified by its id, the time at which it started and the namespace of
// its id (containers have their own).
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tessera {

struct ProcessId {
  std::int32_t pid = 0;
  std::uint64_t started = 0;        // clock ticks since boot, from /proc/PID/stat
  std::uint64_t pid_namespace = 0;  // inode of /proc/self/ns/pid; 0: unknown

  bool operator==(const ProcessId&) const = default;
};

// What /proc/PID/stat says of a process.
struct ProcessStat {
  char state = 0;
  std::uint64_t threads = 0;
  std::uint64_t started = 0;
};
// `folder` is that of the process, such as /proc/self. Nothing if there is no such process.
std::optional<ProcessStat> process_stat(const std::string& folder);
std::uint64_t pid_namespace_of(const std::string& folder);  // 0: unknown
// A small file of /proc; "" if it cannot be read.
std::string proc_text(const std::string& path);

// started and pid_namespace are 0 where /proc cannot be read. `root` is the folder that contains proc/; anything but
// "/" is for tests.
ProcessId this_process(const std::string& root = "/");

enum class Life : std::uint8_t {
  kAlive,
  kDead,     // it ended, or its id belongs to another process by now
  kUnknown,  // its id is from another namespace, or /proc cannot be read
};
Life life_of(const ProcessId& process, const ProcessId& own, const std::string& root = "/");

}  // namespace tessera
