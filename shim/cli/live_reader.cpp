#include "live_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>

#include "tessera/control.h"

namespace {

namespace fs = std::filesystem;

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) { return std::atomic_ref<std::uint64_t>(word); }

std::string name_of(int pid) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", pid)), name);
  return name;
}

bool is_page(const fs::path& link) {
  std::error_code gone;
  return fs::read_symlink(link, gone).string().starts_with("/memfd:" TESSERA_LIVE_NAME);
}

// Files of other users cannot be listed, and processes may end during the scan. Neither is an error.
void add_pages_of(int pid, std::vector<LiveProcess>& found) {
  std::error_code gone;
  for (fs::directory_iterator file(fmt::format("/proc/{}/fd", pid), gone), end; !gone && file != end;
       file.increment(gone)) {
    if (!is_page(file->path())) continue;
    if (auto page = LivePage::open(file->path(), pid)) {
      found.push_back({pid, name_of(pid), std::move(page)});
    }
  }
}

}  // namespace

std::uint64_t live_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::unique_ptr<LivePage> LivePage::open(const std::string& path, int pid) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat facts {};
  const bool may_see = ::fstat(file, &facts) == 0 && (facts.st_uid == ::geteuid() || ::geteuid() == 0);
  const bool whole = may_see && facts.st_size >= static_cast<off_t>(sizeof(tessera_live));
  void* const mapped =
      whole ? ::mmap(nullptr, sizeof(tessera_live), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  ::close(file);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const live = static_cast<tessera_live*>(mapped);
  std::unique_ptr<LivePage> page(new LivePage(live));
  // In a container the writer has another process id than here; a child of fork has the file open but is not the
  // writer.
  tessera_process_identity identity{};
  const bool known = tessera_process_identity_of(pid, &identity) == TESSERA_OK;
  const bool ours = live->magic == TESSERA_LIVE_MAGIC && known && live->pid == identity.pid;
  return ours ? std::move(page) : nullptr;
}

LivePage::~LivePage() { ::munmap(page_, sizeof(tessera_live)); }

void LivePage::watch_for(std::uint64_t ns) {
  atomic(page_->watched_until_ns).store(live_now_ns() + ns, std::memory_order_relaxed);
}

std::optional<LiveSample> LivePage::read() const {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = atomic(page_->sequence).load(std::memory_order_acquire);
    LiveSample sample;
    sample.written_ns = atomic(page_->written_ns).load(std::memory_order_acquire);
    const std::uint64_t bytes =
        std::min<std::uint64_t>(atomic(page_->text_bytes).load(std::memory_order_acquire), sizeof(page_->text));
    sample.text.resize(bytes);
    for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
      const std::uint64_t word = atomic(page_->text[at / sizeof(word)]).load(std::memory_order_acquire);
      std::memcpy(sample.text.data() + at, &word, std::min(sizeof(word), bytes - at));
    }
    if (before % 2 == 0 && atomic(page_->sequence).load(std::memory_order_relaxed) == before) {
      if (bytes == 0) return std::nullopt;
      return sample;
    }
    ::usleep(100);
  }
  return std::nullopt;
}

std::vector<LiveProcess> live_processes() {
  std::vector<LiveProcess> found;
  std::error_code none;
  for (fs::directory_iterator entry("/proc", none), end; !none && entry != end; entry.increment(none)) {
    const int pid = std::atoi(entry->path().filename().c_str());
    if (pid > 0) add_pages_of(pid, found);
  }
  std::sort(found.begin(), found.end(), [](const LiveProcess& a, const LiveProcess& b) { return a.pid < b.pid; });
  return found;
}
