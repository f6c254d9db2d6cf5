#include "api/live_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fmt/core.h>

#include "base/descriptor.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) { return std::atomic_ref<std::uint64_t>(word); }

Status failed(const char* what) { return Status(Code::kIo, fmt::format("{}: {}", what, std::strerror(errno))); }

// Private to the user, and sealed at its size: no process can truncate the page under the writer.
bool secure(int file) {
  return ::fchmod(file, S_IRUSR | S_IWUSR) == 0 && ::ftruncate(file, sizeof(tessera_live)) == 0 &&
         ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

}  // namespace

Result<std::unique_ptr<LiveBoard>> LiveBoard::open() {
  const int file = away_from_standard(::memfd_create(TESSERA_LIVE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file < 0) return failed("memfd_create");
  void* const page =
      secure(file) ? ::mmap(nullptr, sizeof(tessera_live), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (page == MAP_FAILED) {
    const Status status = failed("mapping the page for tessera top");
    ::close(file);
    return status;
  }
  auto* const live = static_cast<tessera_live*>(page);
  live->pid = ::getpid();
  live->magic = TESSERA_LIVE_MAGIC;
  return std::unique_ptr<LiveBoard>(new LiveBoard(live, file));
}

std::unique_ptr<LiveBoard> LiveBoard::open_if_possible() {
  auto board = open();
  if (board.is_ok()) return board.take();
  log_line(LogLevel::kWarning, "not visible to tessera top: {}", board.status().to_string());
  return nullptr;
}

LiveBoard::~LiveBoard() {
  ::munmap(page_, sizeof(tessera_live));
  ::close(file_);
}

bool LiveBoard::wanted() const { return atomic(page_->watched_until_ns).load(std::memory_order_relaxed) > now_ns(); }

void LiveBoard::publish(std::string_view text) {
  if (text.size() > kCapacity) return;
  const std::uint64_t sequence = atomic(page_->sequence).load(std::memory_order_relaxed);
  atomic(page_->sequence).store(sequence + 1, std::memory_order_relaxed);
  // Each of these is a release: a reader that sees any of them also sees the odd sequence number.
  atomic(page_->written_ns).store(now_ns(), std::memory_order_release);
  atomic(page_->text_bytes).store(text.size(), std::memory_order_release);
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    const std::string_view piece = text.substr(at, sizeof(word));
    std::memcpy(&word, piece.data(), piece.size());
    atomic(page_->text[at / sizeof(word)]).store(word, std::memory_order_release);
  }
  atomic(page_->sequence).store(sequence + 2, std::memory_order_release);
}

}  // namespace tessera
