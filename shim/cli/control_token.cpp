#include "control_token.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/ranges.h>
#include <fmt_whole.hpp>

namespace {

constexpr std::size_t kRandomBytes = 24;
constexpr std::size_t kLeast = 16, kMost = 256;

ControlToken refused(const std::string& path, const char* why) { return {"", fmt::format("{}: {}", path, why)}; }

class File {
 public:
  explicit File(int file) : file_(file) {}
  ~File() {
    if (file_ >= 0) ::close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int value() const { return file_; }

 private:
  const int file_;
};

ControlToken make_token(const std::string& path, int file) {
  const std::string token = random_token();
  if (token.empty()) return refused(path, std::strerror(errno));
  const std::string line = token + "\n";
  if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    const int why = errno;
    ::unlink(path.c_str());
    return refused(path, std::strerror(why));
  }
  return {token, ""};
}

ControlToken read_token(const std::string& path, int file) {
  struct stat found {};
  if (::fstat(file, &found) != 0) return refused(path, std::strerror(errno));
  if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid()) return refused(path, "is no plain file of this user");
  if ((found.st_mode & 077) != 0) return refused(path, "others may read it (chmod 600)");
  std::string text(kMost + 2, '\0');
  const ssize_t got = ::read(file, text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (text.ends_with('\n')) text.pop_back();
  const bool visible = std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
  if (text.size() < kLeast || text.size() > kMost || !visible) {
    return refused(path, "is not one line of 16 to 256 visible characters");
  }
  return {text, ""};
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, kRandomBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

ControlToken control_token(const std::string& path) {
  const File made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (made.value() >= 0) return make_token(path, made.value());
  if (errno != EEXIST) return refused(path, std::strerror(errno));
  const File known(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  return known.value() >= 0 ? read_token(path, known.value()) : refused(path, std::strerror(errno));
}
