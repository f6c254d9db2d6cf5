#include "limit_probe.hpp"

#include <sys/resource.h>

#include "tessera/limits.h"

namespace {

std::optional<std::uint64_t> limit_of(decltype(RLIMIT_AS) resource) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace

LimitFacts probe_limits() {
  LimitFacts facts;
  facts.processors = tessera_available_processors();
  facts.addresses = limit_of(RLIMIT_AS);
  facts.file_bytes = limit_of(RLIMIT_FSIZE);
  facts.open_files = limit_of(RLIMIT_NOFILE);
  const std::uint64_t tasks = tessera_available_tasks();
  if (tasks != UINT64_MAX) facts.tasks = tasks;
  return facts;
}
