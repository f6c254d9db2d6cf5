// The disk under the file tier: large direct writes and reads, several in flight.
#include "probe.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

namespace first_light {
namespace {

constexpr std::size_t kPiece = 2 * kMiB;
constexpr int kThreads = 4;

// An unnamed file, deleted when it is closed.
class ScratchFile {
 public:
  ScratchFile(const std::string& directory, int flags)
      : file_(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600)) {}
  ~ScratchFile() {
    if (file_ >= 0) (void)::close(file_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  int file() const { return file_; }

 private:
  int file_;
};

// Bytes per second, or 0 after a failure, with its errno in `error`.
double transfer(int file, bool writes, std::size_t pieces, std::atomic<int>& error) {
  std::atomic<std::size_t> next{0};
  const Watch watch;
  const auto work = [&] {
    const std::unique_ptr<void, void (*)(void*)> buffer(std::aligned_alloc(4096, kPiece), std::free);
    std::memset(buffer.get(), 0x5a, kPiece);
    for (std::size_t piece; error == 0 && (piece = next++) < pieces;) {
      const auto at = static_cast<off_t>(piece * kPiece);
      const ssize_t done = writes ? ::pwrite(file, buffer.get(), kPiece, at) : ::pread(file, buffer.get(), kPiece, at);
      if (done != static_cast<ssize_t>(kPiece)) error = done < 0 ? errno : EIO;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (writes && error == 0 && ::fdatasync(file) != 0) error = errno;
  return error == 0 ? static_cast<double>(pieces * kPiece) / watch.seconds() : 0;
}

Answer disk_speed(const Settings& settings) {
  struct statvfs about {};
  if (::statvfs(settings.directory.c_str(), &about) != 0) throw NotHere{"no such directory"};
  const std::size_t pieces = settings.quick ? 2 : 128;
  if (about.f_bavail * about.f_frsize < 4 * pieces * kPiece) throw NotHere{"the disk is full"};
  Answer answer;
  for (const bool direct : {true, false}) {
    const ScratchFile scratch(settings.directory, direct ? O_DIRECT : 0);
    Json& found = answer.results[direct ? "direct" : "through the page cache"];
    if (scratch.file() < 0) {
      found = {{"errno", errno}};
      continue;
    }
    std::atomic<int> error{0};
    found["write_bytes_per_second"] = transfer(scratch.file(), true, pieces, error);
    found["read_bytes_per_second"] = transfer(scratch.file(), false, pieces, error);
    found["errno"] = error.load();
  }
  answer.results["bytes"] = pieces * kPiece;
  return answer;
}

}  // namespace

std::vector<Probe> disk_probes() {
  return {{"disk_speed", "bytes per second of the disk that may hold the spill file", disk_speed}};
}

}  // namespace first_light
