#include "control_server.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "descriptors.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "peer_user.hpp"
#include "tessera/control.h"

namespace tessera::preload {
namespace {

constexpr std::size_t kMostRequest = 64;
constexpr int kPauseMilliseconds = 100;

struct Server {
  std::string path;
  int listener = -1;
  int stop = -1;
  std::thread thread;
};

constinit Server* server = nullptr;  // leaked in a child of fork, which does not have its thread

bool is_private_folder(const char* folder) {
  if (::mkdir(folder, 0700) != 0 && errno != EEXIST) return false;
  struct stat facts {};
  if (::lstat(folder, &facts) != 0) return false;
  const bool ours = S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid();
  if (!ours || (facts.st_mode & 077) != 0) errno = EPERM;
  return ours && (facts.st_mode & 077) == 0;
}

// The folder of the sockets. Its path may be longer than a socket address can be; then a socket is addressed through
// the open folder, which needs /proc.
class SocketFolder {
 public:
  explicit SocketFolder(const char* path)
      : path_(path), open_(off_standard_streams(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC))) {}
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  ~SocketFolder() {
    if (open_ >= 0) ::close(open_);
  }

  // False, with errno, if there is no address for it.
  bool address_of(const std::string& file, sockaddr_un& name) const {
    name = {};
    name.sun_family = AF_UNIX;
    std::string path = path_ + "/" + file;
    if (path.size() >= sizeof(name.sun_path)) path = "/proc/self/fd/" + std::to_string(open_) + "/" + file;
    if (open_ < 0 || path.size() >= sizeof(name.sun_path)) {
      errno = ENAMETOOLONG;
      return false;
    }
    std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
    return true;
  }

 private:
  const std::string path_;
  const int open_;
};

constexpr const char* kUnlistened = ".new";

// True for a new socket that may not be listening yet; later its program must have been killed before it could listen.
bool is_starting(const char* path) {
  constexpr std::time_t kStartedSince = 60;  // seconds
  struct stat facts {};
  return ::lstat(path, &facts) != 0 || ::time(nullptr) - facts.st_mtime <= kStartedSince;
}

// Removes sockets of killed programs: nothing listens on them. A socket gets its final name only once it is listening.
void sweep(const char* folder, const SocketFolder& sockets) {
  constexpr int kMostLooked = 256;
  DIR* const entries = ::opendir(folder);
  if (entries == nullptr) return;
  for (int looked = 0; looked < kMostLooked;) {
    const dirent* const entry = ::readdir(entries);
    if (entry == nullptr) break;
    std::string_view file(entry->d_name);
    sockaddr_un name;
    const bool unlistened = file.ends_with(kUnlistened);
    if (unlistened) file.remove_suffix(std::string_view(kUnlistened).size());
    if (!file.ends_with(TESSERA_CONTROL_END) || !sockets.address_of(entry->d_name, name)) continue;
    ++looked;
    if (unlistened && is_starting(name.sun_path)) continue;
    const int peer = off_standard_streams(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (peer < 0) break;
    const bool dead = ::connect(peer, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0 && errno == ECONNREFUSED;
    ::close(peer);
    if (dead) ::unlink(name.sun_path);
  }
  ::closedir(entries);
}

// Returns -1 with errno on failure.
int listen_at(const SocketFolder& sockets, const std::string& file) {
  sockaddr_un name, final_name;
  if (!sockets.address_of(file + kUnlistened, name) || !sockets.address_of(file, final_name)) return -1;
  const char* const unlistened = name.sun_path;
  const int listener = off_standard_streams(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener < 0) return -1;
  ::unlink(unlistened);
  const bool bound = ::bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0 &&
                     ::chmod(unlistened, 0600) == 0 && ::listen(listener, 4) == 0 &&
                     ::rename(unlistened, final_name.sun_path) == 0;
  if (bound) return listener;
  const int why = errno;
  ::unlink(unlistened);
  ::close(listener);
  errno = why;
  return -1;
}

// Reads up to the end of the line, which is not included. False if the line does not arrive in time or is too long.
bool read_line(int peer, std::string& line) {
  const timeval patience{2, 0};
  (void)::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  (void)::setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  char letter = 0;
  while (line.size() < kMostRequest && ::recv(peer, &letter, 1, 0) == 1) {
    if (letter == '\n') return true;
    line += letter;
  }
  return false;
}

std::string state_of(tessera_allocator* allocator) {
  tessera_stats stats{};
  stats.size = sizeof(stats);
  const Entry entry;
  if (tessera_get_stats(allocator, &stats) != TESSERA_OK) return std::string("error ") + tessera_last_error() + "\n";
  return "ok " + std::to_string(stats.asleep) + " " + std::to_string(stats.idle_ns) + "\n";
}

std::string answer(const std::string& request) {
  tessera_allocator* const allocator = running();
  const std::size_t blank = request.find(' ');
  const std::string verb = request.substr(0, blank);
  const std::string tag = blank == std::string::npos ? "" : request.substr(blank + 1);
  const bool known = (verb == "sleep" || verb == "wake") && (tag == "*" || tag.starts_with(':'));
  if (!known && request != "state") return "error unknown request\n";
  if (allocator == nullptr) return "error the program is not using Tessera now\n";
  if (!known) return state_of(allocator);
  tessera_moved moved{};
  moved.size = sizeof(moved);
  const Entry entry;
  const char* const name = tag == "*" ? nullptr : tag.c_str() + 1;
  const tessera_result result =
      verb == "sleep" ? tessera_sleep(allocator, name, &moved) : tessera_wake(allocator, name, &moved);
  if (result != TESSERA_OK) return std::string("error ") + tessera_last_error() + "\n";
  return "ok " + std::to_string(moved.moved_bytes) + " " + std::to_string(moved.stayed_bytes) + "\n";
}

// False if the request is still queued: the process has no free file descriptor for it.
bool serve(int listener) {
  const int peer = off_standard_streams(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (peer < 0) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
  std::string request;
  if (is_same_user(peer) && read_line(peer, request)) {
    const std::string reply = answer(request);
    (void)::send(peer, reply.data(), reply.size(), MSG_NOSIGNAL);
  }
  ::close(peer);
  return true;
}

void run(int listener, int stop) {
  pollfd ends[] = {{stop, POLLIN, 0}, {listener, POLLIN, 0}};
  for (;;) {
    if (::poll(ends, 2, -1) < 0 && errno != EINTR) return;
    if ((ends[0].revents & POLLIN) != 0) return;
    if ((ends[1].revents & POLLIN) == 0 || serve(listener)) continue;
    [[maybe_unused]] const int stops = ::poll(ends, 1, kPauseMilliseconds);  // else retried above
  }
}

// Blocks all signals in the thread: they are for the program's own threads. False, with errno, if no thread can be
// created.
bool start_thread(Server& made) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int why = 0;
  try {
    made.thread = std::thread([listener = made.listener, stop = made.stop] { run(listener, stop); });
  } catch (const std::system_error& error) {
    why = error.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = why;
  return why == 0;
}

void close_all(const Server& made) {
  if (made.listener >= 0) {
    ::unlink(made.path.c_str());
    ::close(made.listener);
  }
  if (made.stop >= 0) ::close(made.stop);
}

}  // namespace

void start_control(const char* folder) {
  if (*folder == '\0') return;
  auto made = std::make_unique<Server>();
  tessera_process_identity own{};
  char name[TESSERA_CONTROL_NAME_BYTES];
  // Without /proc the process id alone is used.
  if (tessera_process_identity_of(0, &own) != TESSERA_OK) own.pid = ::getpid();
  tessera_control_name(&own, name);
  made->path = std::string(folder) + "/" + name;
  if (is_private_folder(folder)) {
    const SocketFolder sockets(folder);
    sweep(folder, sockets);
    made->listener = listen_at(sockets, name);
  }
  if (made->listener >= 0) made->stop = off_standard_streams(::eventfd(0, EFD_CLOEXEC));
  if (made->stop < 0 || !start_thread(*made)) {
    say("no control socket in %s: %s", folder, std::strerror(errno));
    close_all(*made);
    return;
  }
  server = made.release();
}

void stop_control() {
  if (server == nullptr) return;
  const std::unique_ptr<Server> ending(server);
  server = nullptr;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto told = ::write(ending->stop, &one, sizeof(one));
  ending->thread.join();
  close_all(*ending);
}

void forget_control() {
  if (server == nullptr) return;
  ::close(server->listener);
  ::close(server->stop);
  server = nullptr;
}

}  // namespace tessera::preload
