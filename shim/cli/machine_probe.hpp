// Resources of the operating system: memory, limits, io_uring, and a folder suitable for a spill file.
//
// Everything is determined by trying; nothing is left behind.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// The limit on locked memory (ulimit -l); empty if there is none.
std::optional<std::uint64_t> locked_memory_limit();
// When the kernel uses huge pages: "always", "madvise", "never"; "" if it does not support them. `file` is the kernel's
// setting.
std::string huge_pages_mode(const std::string& file = "/sys/kernel/mm/transparent_hugepage/enabled");
// Whether io_uring may be used, and the possible obstacles.
struct UringFacts {
  std::string call;                             // the first refused system call, or ""
  int refusal = 0;                              // its error number
  int sysctl = 0;                               // kernel.io_uring_disabled; 0 if the kernel lacks it
  bool filtered = false;                        // a seccomp filter applies to this process
  std::optional<std::uint64_t> locked_limit{};  // on locked memory

  bool usable() const { return call.empty(); }
};
// `sysctl` and `status` are the kernel files to read.
UringFacts probe_io_uring(const std::string& sysctl = "/proc/sys/kernel/io_uring_disabled",
                          const std::string& status = "/proc/self/status");

struct FolderFacts {
  std::string path;
  std::string problem;     // why no file can be created there, or ""
  bool nameless = false;   // O_TMPFILE: the file never has a name
  bool direct = false;     // O_DIRECT: bypasses the page cache
  bool in_memory = false;  // tmpfs or ramfs
  std::uint64_t free_bytes = 0;

  bool fit() const { return problem.empty() && nameless && direct && !in_memory; }
};
FolderFacts probe_folder(const std::string& path);

// The first suitable folder of a short list; otherwise the last one that works at all.
FolderFacts choose_spill_folder();
