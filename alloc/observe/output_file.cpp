#include "observe/output_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "observe/quiet_signals.hpp"
#include "observe/text_file.hpp"

namespace tessera {
namespace {

constexpr int kMostNames = 99;
constexpr std::chrono::milliseconds kBetweenTries{10};

// The descriptor number, if `path` names a descriptor of this process. It has a position of its own: opening
// the path again would start at offset 0, over what the program writes there.
std::optional<int> descriptor_of(const std::string& path) {
  if (path == "-" || path == "/dev/stderr") return STDERR_FILENO;
  if (path == "/dev/stdout") return STDOUT_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder) || path.size() == folder.size()) continue;
    const std::string number = path.substr(folder.size());
    if (number.size() < 6 && std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return std::atoi(number.c_str());
    }
  }
  return std::nullopt;
}

bool is_fifo(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
}

// Waits up to kPatience for a reader.
Result<int> open_fifo(const std::string& path) {
  const auto until = std::chrono::steady_clock::now() + OutputFile::kPatience;
  while (true) {
    const int file = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) return file;
    if (errno != ENXIO) return io_error(path);
    if (std::chrono::steady_clock::now() > until)
      return Status(Code::kIo, fmt::format("{}: the FIFO has no reader", path));
    ::usleep(std::chrono::duration_cast<std::chrono::microseconds>(kBetweenTries).count());
  }
}

// Never a standard stream's number, which the program may have closed.
Result<int> above_standard(int file, const std::string& path) {
  const int kept = away_from_standard(file);
  if (kept < 0) return io_error(path);
  return kept;
}

Result<int> open_any(const std::string& path) {
  if (const auto number = descriptor_of(path)) {
    if (*number == STDERR_FILENO && !has_standard_error()) return Status(Code::kIo, "standard error is closed", EBADF);
    return above_standard(::fcntl(*number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), path);
  }
  if (is_fifo(path)) {
    TESSERA_TRY_ASSIGN(const int fifo, open_fifo(path));
    return above_standard(fifo, path);
  }
  return above_standard(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600), path);
}

// Whether this process can have the file. On a file system without locks, users must avoid conflicts
// themselves.
bool is_free(int file, OutputFile::Left left) {
  if (left == OutputFile::Left::kTake) return true;
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat facts {};
  return left != OutputFile::Left::kKeep || ::fstat(file, &facts) != 0 || facts.st_size == 0;
}

Bytes limit_on_files() {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return Bytes(known ? limit.rlim_cur : ~std::uint64_t{0});
}

}  // namespace

std::string path_beside(const std::string& path, std::string_view mark) {
  const auto name = path.rfind('/') + 1;  // 0 where there is none
  const auto dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && dot > name;
  return fmt::format("{}-{}{}", path.substr(0, has_ending ? dot : path.size()), mark,
                     has_ending ? path.substr(dot) : "");
}

Result<std::unique_ptr<OutputFile>> OutputFile::open(const std::string& path, Left left) {
  std::string name = path;
  for (int tries = 1; tries <= kMostNames; ++tries) {
    TESSERA_TRY_ASSIGN(const int file, open_any(name));
    struct stat facts {};
    const bool regular = !descriptor_of(name) && ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
    if (!regular || is_free(file, left)) {
      if (regular && ::ftruncate(file, 0) != 0) {
        Status failed = io_error(name);
        ::close(file);
        return failed;
      }
      if (name != path)
        log_line(LogLevel::kWarning,
                 "{} is in use by another process or an earlier heap of this one: writing {} instead", path, name);
      return std::unique_ptr<OutputFile>(new OutputFile(file, name, regular));
    }
    ::close(file);
    name = path_beside(path, tries == 1 ? std::to_string(::getpid()) : fmt::format("{}-{}", ::getpid(), tries));
  }
  return Status(Code::kIo,
                fmt::format("{}: in use by other processes, as are {} alternative names", path, kMostNames - 1));
}

OutputFile::OutputFile(int file, std::string path, bool is_regular)
    : file_(file), path_(std::move(path)), is_regular_(is_regular), limit_(limit_on_files()) {}

OutputFile::~OutputFile() {
  // close() may be the call that reports a full disk.
  if (::close(file_) != 0)
    log_line(LogLevel::kWarning, "{}: the end of the file may be lost", io_error(path_).message());
}

Status OutputFile::append(std::string_view text) {
  if (!is_regular_) return send(text);
  // Past the limit, the write would raise SIGXFSZ.
  if (size_ + Bytes(text.size()) > limit_) {
    errno = EFBIG;
    return io_error(path_);
  }
  // O_APPEND writes at the current end, so a file that another process truncated gets no hole.
  if (!size_ && ::fcntl(file_, F_SETFL, O_APPEND) != 0) return io_error(path_);
  size_ += Bytes(text.size());
  return write_all(file_, text, path_);
}

Status OutputFile::replace(std::string_view text) {
  if (!is_regular_) return send(text);
  const QuietSignals quiet;
  if (::ftruncate(file_, 0) != 0) return io_error(path_);
  return write_at(Bytes(), text);
}

Status OutputFile::write_at(Bytes offset, std::string_view text) {
  const QuietSignals quiet;
  while (!text.empty()) {
    const ssize_t written = ::pwrite(file_, text.data(), text.size(), static_cast<off_t>(offset.value()));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error(path_);
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += Bytes(static_cast<std::uint64_t>(written));
  }
  return {};
}

// A pipe that polls as writable accepts PIPE_BUF bytes.
Status OutputFile::send(std::string_view text) {
  const QuietSignals quiet;
  while (!text.empty()) {
    pollfd room{file_, POLLOUT, 0};
    const int ready = ::poll(&room, 1, std::chrono::duration_cast<std::chrono::milliseconds>(kPatience).count());
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Status(Code::kIo, fmt::format("{}: the reader stopped reading", path_));
    if (ready < 0) return io_error(path_);
    const ssize_t written = ::write(file_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return io_error(path_);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace tessera
