// control.h: the identity of a process, from /proc.
#include "tessera/control.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "api/call.hpp"
#include "base/descriptor.hpp"

namespace tessera {
namespace {

// "" where there is none. The size of a /proc file is only known by reading it.
std::string proc_text(const std::string& path) {
  std::string text(4096, '\0');
  const int file = away_from_standard(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file < 0) return "";
  const ssize_t got = ::read(file, text.data(), text.size());
  ::close(file);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::uint64_t number_at(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Field 22. The second field, the program's name, may contain blanks and brackets.
std::uint64_t start_of(std::string_view stat) {
  std::size_t at = stat.rfind(')');
  for (int field = 2; field < 22 && at != stat.npos; ++field) at = stat.find(' ', at + 1);
  return at == stat.npos ? 0 : number_at(stat.substr(at + 1));
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
  const std::string stat = proc_text(folder + "/stat");
  if (stat.empty()) return Status(Code::kNotFound, fmt::format("no such process: {}", pid));
  const std::uint64_t innermost = innermost_pid_of(proc_text(folder + "/status"));
  identity.pid = static_cast<std::int64_t>(innermost != 0 ? innermost : number_at(stat));
  identity.start_ticks = start_of(stat);
  struct stat facts {};
  identity.pid_namespace =
      ::stat((folder + "/ns/pid").c_str(), &facts) == 0 ? static_cast<std::uint64_t>(facts.st_ino) : 0;
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
