#include "tier/file_io_choice.hpp"

#include <string>

#include <fmt/core.h>

#include "base/log.hpp"
#include "tier/thread_io.hpp"
#include "tier/uring_io.hpp"

namespace tessera {
namespace {

std::string instead(const ThreadIo& io) {
  if (io.refusal().is_ok()) return "using threads for file I/O";
  if (io.threads() > 0) return fmt::format("using {} threads for file I/O, more could not be started", io.threads());
  return fmt::format("threads cannot be started either ({}): calls that wait for pages do the file I/O",
                     io.refusal().message());
}

}  // namespace

Result<std::unique_ptr<FileIo>> open_file_io(const std::string& directory, Bytes size) {
  auto ring = UringIo::open(directory, size);
  if (ring.is_ok()) return std::unique_ptr<FileIo>(ring.take());
  if (ring.status().code() != Code::kNotSupported) return ring.status();
  auto threads = ThreadIo::open(directory, size);
  if (!threads.is_ok()) return threads.status();
  log_line(LogLevel::kWarning, "spill directory {}: {}; {}", directory, ring.status().message(),
           instead(*threads.value()));
  return std::unique_ptr<FileIo>(threads.take());
}

}  // namespace tessera
