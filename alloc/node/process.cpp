#include "node/process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include <fmt/core.h>

#include "base/descriptor.hpp"

namespace tessera {
namespace {

// Fields of /proc/PID/stat, counted from 1 as in proc(5).
constexpr int kState = 3, kThreads = 20, kStartTime = 22;

std::optional<std::uint64_t> number(std::string_view word) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size()) return std::nullopt;
  return value;
}

// The name of the program, in parentheses, may contain spaces and parentheses itself.
std::optional<ProcessStat> parse(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  ProcessStat stat;
  int field = kState - 1;
  for (std::size_t at = name_end + 1; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \n", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    ++field;
    if (field == kState) stat.state = word.front();
    if (field == kThreads || field == kStartTime) {
      const auto value = number(word);
      if (!value) return std::nullopt;
      (field == kThreads ? stat.threads : stat.started) = *value;
    }
    if (field == kStartTime) return stat;
    at = end;
  }
  return std::nullopt;
}

std::string folder_of(std::int32_t pid, const std::string& root) { return fmt::format("{}proc/{}", root, pid); }

bool has_proc(const std::string& root) { return ::access((root + "proc/self/stat").c_str(), R_OK) == 0; }

}  // namespace

// The size of such a file is only known by reading it.
std::string proc_text(const std::string& path) {
  std::string text(4096, '\0');
  const int file = away_from_standard(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file < 0) return "";
  const ssize_t got = ::read(file, text.data(), text.size());
  ::close(file);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::optional<ProcessStat> process_stat(const std::string& folder) { return parse(proc_text(folder + "/stat")); }

std::uint64_t pid_namespace_of(const std::string& folder) {
  struct stat found {};
  return ::stat((folder + "/ns/pid").c_str(), &found) == 0 ? static_cast<std::uint64_t>(found.st_ino) : 0;
}

ProcessId this_process(const std::string& root) {
  ProcessId self;
  self.pid = ::getpid();
  if (const auto stat = process_stat(folder_of(self.pid, root))) self.started = stat->started;
  self.pid_namespace = pid_namespace_of(root + "proc/self");
  return self;
}

// A process that has ended but was not waited for has returned its memory. Its main thread alone may have ended: then
// it has other threads.
Life life_of(const ProcessId& process, const ProcessId& own, const std::string& root) {
  if (process == own) return Life::kAlive;
  if (own.pid_namespace == 0 || process.pid_namespace != own.pid_namespace || !has_proc(root)) return Life::kUnknown;
  const auto stat = process_stat(folder_of(process.pid, root));
  if (!stat || stat->started != process.started) return Life::kDead;
  const bool ended = stat->state == 'X' || stat->state == 'x' || (stat->state == 'Z' && stat->threads <= 1);
  return ended ? Life::kDead : Life::kAlive;
}

}  // namespace tessera
