#include "control_client.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace {

ControlReply failed(std::string why) { return {0, 0, std::move(why)}; }

// -1 when there is nobody, or somebody of another user.
int connect_to(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) return -1;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  const int peer = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (peer < 0) return -1;
  errno = 0;
  ucred who{};
  socklen_t size = sizeof(who);
  const bool there = ::connect(peer, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0 &&
                     ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
                     who.uid == ::geteuid();
  if (there) return peer;
  const bool left_behind = errno == ECONNREFUSED;
  ::close(peer);
  if (left_behind) ::unlink(path.c_str());
  return -1;
}

std::string answer_of(int peer, const std::string& line) {
  constexpr std::size_t kMostReply = 4096;
  std::string reply;
  if (::send(peer, line.data(), line.size(), MSG_NOSIGNAL) < 0) return reply;
  char piece[512];
  for (ssize_t got; reply.size() < kMostReply && (got = ::recv(peer, piece, sizeof(piece), 0)) > 0;) {
    reply.append(piece, static_cast<std::size_t>(got));
  }
  return reply;
}

ControlReply read_reply(const std::string& reply) {
  if (reply.empty()) return failed("no answer in time");
  ControlReply done;
  if (std::sscanf(reply.c_str(), "ok %" SCNu64 " %" SCNu64, &done.moved_bytes,
                  &done.stayed_bytes) == 2) {
    return done;
  }
  std::string why = reply.starts_with("error ") ? reply.substr(6) : "an answer that is none";
  return failed(why.substr(0, why.find('\n')));
}

// What the process was started with; "" also when that cannot be read.
std::string variable_of(int pid, const std::string& name) {
  std::ifstream environment(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string entry; std::getline(environment, entry, '\0');) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

// Its own comes first: a user may have chosen it, and its runtime folder need not be that of this shell.
std::vector<std::string> control_folders_of(int pid) {
  std::vector<std::string> folders = control_folders();
  std::string own = variable_of(pid, "TESSERA_CONTROL_DIR");
  if (own.empty()) return folders;
  if (own.front() != '/') own = fmt::format("/proc/{}/cwd/{}", pid, own);
  folders.insert(folders.begin(), std::move(own));
  return folders;
}

}  // namespace

std::vector<std::string> control_folders() {
  std::vector<std::string> folders;
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && ::access(runtime, W_OK | X_OK) == 0) {
    folders.push_back(fmt::format("{}/tessera", runtime));
  }
  folders.push_back(fmt::format("/tmp/tessera-{}", ::geteuid()));
  return folders;
}

ControlReply ask_program(int pid, const std::string& request, int timeout_seconds) {
  for (const std::string& folder : control_folders_of(pid)) {
    const int peer = connect_to(fmt::format("{}/{}.sock", folder, pid));
    if (peer < 0) continue;
    const timeval patience{timeout_seconds, 0};
    (void)::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    const ControlReply reply = read_reply(answer_of(peer, request + "\n"));
    ::close(peer);
    return reply;
  }
  return failed(fmt::format("process {} does not run under `tessera run` as this user, or has not "
                            "allocated yet", pid));
}
