// control.h: the identity of a process, from /proc.
#include "tessera/control.h"

#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "api/call.hpp"
#include "node/process.hpp"

namespace tessera {
namespace {

std::uint64_t number_at(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The last number of NSpid is the pid in the innermost namespace; kernels before Linux 4.1 have no NSpid.
std::uint64_t innermost_pid_of(std::string_view status) {
  constexpr std::string_view kLine = "\nNSpid:";
  const std::size_t line = status.find(kLine);
  if (line == status.npos) return 0;
  const std::string_view numbers = status.substr(line, status.find('\n', line + 1) - line);
  return number_at(numbers.substr(numbers.find_last_of(" \t") + 1));
}

Status identify(std::int64_t pid, tessera_process_identity& identity) {
  const std::string folder = pid == 0 ? "/proc/self" : fmt::format("/proc/{}", pid);
  const auto stat = process_stat(folder);
  if (!stat) return Status(Code::kNotFound, fmt::format("no such process: {}", pid));
  const std::uint64_t innermost = innermost_pid_of(proc_text(folder + "/status"));
  const std::int64_t own = pid == 0 ? ::getpid() : pid;
  identity.pid = innermost != 0 ? static_cast<std::int64_t>(innermost) : own;
  identity.start_ticks = stat->started;
  identity.pid_namespace = pid_namespace_of(folder);
  return {};
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_process_identity_of(int64_t pid, tessera_process_identity* identity) {
  return api_call([&]() -> Status {
    if (identity == nullptr) return null_argument("identity");
    *identity = {};
    return identify(pid, *identity);
  });
}

void tessera_control_name(const tessera_process_identity* identity, char* name) {
  std::snprintf(name, TESSERA_CONTROL_NAME_BYTES, "%" PRId64 ".%" PRIx64 ".%" PRIx64 TESSERA_CONTROL_END, identity->pid,
                identity->pid_namespace, identity->start_ticks);
}

}  // extern "C"
