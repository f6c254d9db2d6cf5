#include "node/ledger_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/descriptor.hpp"
#include "node/ledger_folder.hpp"

namespace tessera {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kDeviceName = 32;  // hexadecimal digits
constexpr std::chrono::microseconds kBetweenLockTries{200};

using Deadline = std::chrono::steady_clock::time_point;

bool has_characters_of_a_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, allowed);
}

bool is_name(const std::string& name) { return name.size() <= kLongestName && has_characters_of_a_name(name); }

bool is_folder(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

bool is_device(std::string_view name) {
  return name.size() == kDeviceName && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The names of the ledgers of this version in a folder, also of those of devices, in order.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const int opened = away_from_standard(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DIR* const entries = opened < 0 ? nullptr : ::fdopendir(opened);
  if (entries == nullptr) {
    if (opened >= 0) ::close(opened);
    return names;
  }
  const std::string version = ledger_file_name("");
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string_view file = entry->d_name;
    if (!file.ends_with(version)) continue;
    const std::string_view name = file.substr(0, file.size() - version.size());
    if (has_characters_of_a_name(name)) names.emplace_back(name);
  }
  ::closedir(entries);
  std::ranges::sort(names);
  return names;
}

// A descriptor that is closed at the end of the scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset(int value) {
    close();
    value_ = value;
  }
  int value() const { return value_; }

 private:
  void close() {
    if (value_ >= 0) ::close(value_);
    value_ = -1;
  }
  int value_;
};

class PosixLedgerFile final : public LedgerFile {
 public:
  PosixLedgerFile(LedgerFolder folder, const std::string& name)
      : folder_(std::move(folder)), name_(ledger_file_name(name)) {}

  // The last program that leaves removes the file while others may wait for its lock: they make a new one.
  Status lock(std::chrono::milliseconds patience) override {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
      Status locked = open_and_lock(deadline);
      if (locked.is_ok() && is_removed()) {
        if (std::chrono::steady_clock::now() < deadline) continue;
        locked = busy();
      }
      if (!locked.is_ok()) file_.reset(-1);
      return locked;
    }
  }
  Result<std::size_t> read(std::span<std::byte> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got = ::pread(file_.value(), into.data() + done, into.size() - done, static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed("read");
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  Status write(std::size_t offset, std::span<const std::byte> bytes) override {
    ssize_t put = -1;
    do {
      put = ::pwrite(file_.value(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    } while (put < 0 && errno == EINTR);
    if (put == static_cast<ssize_t>(bytes.size())) return {};
    if (put >= 0) errno = ENOSPC;
    return failed("write");
  }
  Status remove() override {
    struct stat locked {
    }, named{};
    if (::fstat(file_.value(), &locked) != 0 || ::lstat(path().c_str(), &named) != 0) return failed("query");
    if (locked.st_dev != named.st_dev || locked.st_ino != named.st_ino) return refused("remove", "was replaced");
    return ::unlink(path().c_str()) == 0 ? Status() : failed("remove");
  }
  void unlock() override { file_.reset(-1); }  // closing it releases the lock

 private:
  std::string path() const { return fmt::format("{}/{}", folder_.path, name_); }
  Status failed(const char* what) const {
    return Status(Code::kIo, fmt::format("{} {}: {}", what, path(), std::strerror(errno)));
  }
  Status refused(const char* what, std::string_view why) const {
    return Status(Code::kIo, fmt::format("{} {} {}", what, path(), why));
  }

  Status busy() const { return Status(Code::kBusy, path() + " is locked by another process"); }
  bool is_removed() const {
    struct stat found {};
    return ::fstat(file_.value(), &found) == 0 && found.st_nlink == 0;
  }

  // Opened anew each time: a program may close descriptors that it does not know, and the file may have been replaced.
  Status open_and_lock(Deadline deadline) {
    if (!folder_.group && ::mkdir(folder_.path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return failed("create the folder of");
    }
    const Descriptor folder(
        away_from_standard(::open(folder_.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
    if (folder.value() < 0) return failed("open the folder of");
    struct stat found {};
    if (::fstat(folder.value(), &found) != 0) return failed("query the folder of");
    if (!folder_.trusts_folder(found)) {
      return refused("the folder of", fmt::format("is not private to {}", folder_.sharers()));
    }
    TESSERA_TRY(open_in(folder.value(), deadline));
    if (::fstat(file_.value(), &found) != 0) return failed("query");
    if (!folder_.trusts_file(found)) {
      return refused("the ledger", fmt::format("is not a file that is private to {}", folder_.sharers()));
    }
    // A new file lacks what the umask of its creator took away from the group.
    const bool is_closed =
        folder_.group && found.st_uid == ::geteuid() && (found.st_mode & ACCESSPERMS) != folder_.file_mode();
    if (is_closed && ::fchmod(file_.value(), folder_.file_mode()) != 0) return failed("share");
    return take_lock(deadline);
  }

  // Another user's new file is closed to the group for a moment, see open_and_lock().
  Status open_in(int folder, Deadline deadline) {
    for (;;) {
      file_.reset(away_from_standard(::openat(folder, name_.c_str(),
                                              O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                                              folder_.file_mode())));
      if (file_.value() >= 0) return {};
      if (errno != EACCES || !folder_.group || std::chrono::steady_clock::now() >= deadline) return failed("open");
      std::this_thread::sleep_for(kBetweenLockTries);
    }
  }

  // A lock of this open file, so that two allocators of one process exclude each other too. It ends with the process.
  // Polled, as its holder may have been stopped.
  Status take_lock(Deadline deadline) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    while (::fcntl(file_.value(), F_OFD_SETLK, &whole) != 0) {
      if (errno != EACCES && errno != EAGAIN && errno != EINTR) return failed("lock");
      if (std::chrono::steady_clock::now() >= deadline) return busy();
      std::this_thread::sleep_for(kBetweenLockTries);
    }
    return {};
  }

  const LedgerFolder folder_;
  const std::string name_;
  Descriptor file_{-1};
};

}  // namespace

std::string ledger_file_name(const std::string& name) { return fmt::format("{}.v{}", name, kLedgerVersion); }

Result<std::unique_ptr<LedgerFile>> open_ledger_file(const std::vector<std::string>& parents, const std::string& name,
                                                     const std::string& device) {
  if (!is_name(name)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("'{}' is not a name of 1 to {} characters A-Z a-z 0-9 . _ -", name, kLongestName));
  }
  const auto parent = std::ranges::find_if(parents, is_folder);
  if (parent == parents.end()) {
    return Status(Code::kNotFound, "no folder in memory for the ledger: neither /dev/shm nor XDG_RUNTIME_DIR");
  }
  return std::unique_ptr<LedgerFile>(
      std::make_unique<PosixLedgerFile>(ledger_folder_in(*parent), device.empty() ? name : name + "." + device));
}

std::vector<std::unique_ptr<LedgerFile>> all_ledger_files(const std::vector<std::string>& parents) {
  std::vector<std::unique_ptr<LedgerFile>> files;
  const auto parent = std::ranges::find_if(parents, is_folder);
  if (parent == parents.end()) return files;
  for (const std::string& name : names_in(ledger_folder_in(*parent).path)) {
    files.push_back(std::make_unique<PosixLedgerFile>(ledger_folder_in(*parent), name));
  }
  return files;
}

std::vector<std::string> devices_with_ledgers(const std::vector<std::string>& parents, const std::string& name) {
  std::vector<std::string> devices;
  const auto parent = std::ranges::find_if(parents, is_folder);
  if (parent == parents.end() || !is_name(name)) return devices;
  for (const std::string& found : names_in(ledger_folder_in(*parent).path)) {
    if (!found.starts_with(name + ".")) continue;
    std::string device = found.substr(name.size() + 1);
    if (is_device(device)) devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace tessera
