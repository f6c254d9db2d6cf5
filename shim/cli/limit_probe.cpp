#include "limit_probe.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "tessera/limits.h"
#include "tessera/tessera.h"

namespace {

std::optional<std::uint64_t> limit_of(decltype(RLIMIT_AS) resource) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::uint64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && file >> kib) return kib << 10;
  }
  return 0;
}

}  // namespace

LimitFacts probe_limits() {
  LimitFacts facts;
  facts.processors = tessera_available_processors();
  facts.all_processors = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  facts.memory = tessera_available_memory();
  facts.free_memory = free_memory();
  facts.addresses = limit_of(RLIMIT_AS);
  facts.file_bytes = limit_of(RLIMIT_FSIZE);
  facts.open_files = limit_of(RLIMIT_NOFILE);
  const std::uint64_t tasks = tessera_available_tasks();
  if (tasks != UINT64_MAX) facts.tasks = tasks;
  return facts;
}
