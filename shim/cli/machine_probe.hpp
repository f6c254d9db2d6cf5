// What the operating system gives: memory, limits, io_uring, and a folder fit for a spill file.
//
// Everything is found out by trying it; nothing is left behind.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// The limit on locked memory (ulimit -l); nothing when there is none.
std::optional<std::uint64_t> locked_memory_limit();
// When the kernel backs memory with huge pages: "always", "madvise", "never"; "" where it has none.
// `file` is where it says so.
std::string huge_pages_mode(const std::string& file = "/sys/kernel/mm/transparent_hugepage/enabled");
// Whether io_uring may be used, and what may stand in its way.
struct UringFacts {
  std::string call;  // the first of its calls that is refused, or ""
  int refusal = 0;   // its error number
  int sysctl = 0;    // kernel.io_uring_disabled; 0 where the kernel has no such
  bool filtered = false;  // a seccomp filter decides about this process's calls
  std::optional<std::uint64_t> locked_limit{};  // on locked memory

  bool usable() const { return call.empty(); }
};
// `sysctl` and `status` are where the kernel tells it.
UringFacts probe_io_uring(const std::string& sysctl = "/proc/sys/kernel/io_uring_disabled",
                          const std::string& status = "/proc/self/status");

struct FolderFacts {
  std::string path;
  std::string problem;       // why no file can be made there, or ""
  bool nameless = false;     // O_TMPFILE: a file that leaves nothing behind
  bool direct = false;       // O_DIRECT: past the page cache
  bool in_memory = false;    // tmpfs or ramfs
  std::uint64_t free_bytes = 0;

  bool fit() const { return problem.empty() && nameless && direct && !in_memory; }
};
FolderFacts probe_folder(const std::string& path);

// The first folder of a short list that is fit; the last one that works at all if none is.
FolderFacts choose_spill_folder();
