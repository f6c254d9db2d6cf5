#include "control_client.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/core.h>

#include "tessera/control.h"

namespace {

ControlReply failed(std::string why) { return {0, 0, std::move(why), false}; }

// A folder may have a long path, such as /proc/PID/root/...; a socket address may not.
int connect_in(int folder, const std::string& file, sockaddr_un& name) {
  name = {};
  name.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", folder, file);
  if (path.size() >= sizeof(name.sun_path)) return -1;
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  const int peer = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (peer < 0 || ::connect(peer, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0) return peer;
  const int why = errno;
  ::close(peer);
  errno = why;
  return -1;
}

// -1 if the process does not listen there. A socket without a listener is removed. The kernel reports which process
// listens; 0 stands for a process outside this namespace.
int connect_to(const std::string& folder, const std::string& file, int pid) {
  const int directory = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  sockaddr_un name{};
  const int peer = connect_in(directory, file, name);
  if (peer < 0 && errno == ECONNREFUSED) ::unlink(name.sun_path);
  ::close(directory);
  if (peer < 0) return -1;
  ucred answers{};
  socklen_t size = sizeof(answers);
  const bool right = ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &answers, &size) == 0 && answers.uid == ::geteuid() &&
                     (answers.pid == pid || answers.pid == 0);
  if (right) return peer;
  ::close(peer);
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
  if (reply.empty()) return failed("timed out waiting for an answer; --timeout makes it wait longer");
  ControlReply done;
  if (std::sscanf(reply.c_str(), "ok %" SCNu64 " %" SCNu64, &done.moved_bytes, &done.stayed_bytes) == 2) {
    return done;
  }
  std::string why = reply.starts_with("error ") ? reply.substr(6) : "an invalid answer";
  return {0, 0, why.substr(0, why.find('\n')), true};
}

// A variable of the environment that the process was started with; "" also if that cannot be read.
std::string variable_of(int pid, const std::string& name) {
  std::ifstream environment(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string entry; std::getline(environment, entry, '\0');) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

// The folders where the process may listen, by its own names. Its own setting comes first: its runtime folder may
// differ from that of this shell.
std::vector<std::string> folders_of(int pid) {
  std::vector<std::string> folders = control_folders();
  std::string own = variable_of(pid, kControlFolder);
  if (own.empty()) return folders;
  if (own.front() != '/') own = fmt::format("/proc/{}/cwd/{}", pid, own);
  folders.insert(folders.begin(), std::move(own));
  return folders;
}

// Whether both see the same file system at the root: then a container's /tmp is this one.
bool shares_root_with(int pid) {
  struct stat own {
  }, other{};
  const std::string root = fmt::format("/proc/{}/root/tmp/.", pid);
  return ::stat("/tmp/.", &own) == 0 && ::stat(root.c_str(), &other) == 0 && own.st_dev == other.st_dev &&
         own.st_ino == other.st_ino;
}

std::string why_unreachable(int pid) {
  struct stat facts {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &facts) != 0)
    return fmt::format("no such process: {}; `tessera top` lists those that can be asked", pid);
  if (facts.st_uid != ::geteuid()) {
    return fmt::format("process {0} belongs to another user; `sudo -u '#{1}' tessera ...` asks as that one", pid,
                       facts.st_uid);
  }
  if (variable_of(pid, kControlFolder).empty())
    return fmt::format("process {} was not started by `tessera run`; `tessera top` lists those that were", pid);
  if (!shares_root_with(pid)) {
    return fmt::format(
        "process {} has a private /tmp (a container, or PrivateTmp of systemd); run the command inside: "
        "nsenter -t {} -p -m tessera sleep PID",
        pid, pid);
  }
  return fmt::format(
      "process {} has not allocated yet, or its control socket could not be created, which it says on its standard "
      "error; try again when `tessera top` shows it",
      pid);
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

// The numbers of its answer are those of a move.
ProgramState ask_state(int pid, int timeout_seconds) {
  const ControlReply reply = ask_program(pid, "state", timeout_seconds);
  return {reply.moved_bytes != 0, reply.problem};
}

ControlReply ask_program(int pid, const std::string& request, int timeout_seconds) {
  tessera_process_identity identity{};
  char name[TESSERA_CONTROL_NAME_BYTES];
  if (tessera_process_identity_of(pid, &identity) != TESSERA_OK) return failed(why_unreachable(pid));
  tessera_control_name(&identity, name);
  for (const std::string& folder : folders_of(pid)) {
    // The process may see another file system than this one.
    int peer = connect_to(fmt::format("/proc/{}/root{}", pid, folder), name, pid);
    if (peer < 0) peer = connect_to(folder, name, pid);
    if (peer < 0) continue;
    const timeval patience{timeout_seconds, 0};
    (void)::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    const ControlReply reply = read_reply(answer_of(peer, request + "\n"));
    ::close(peer);
    return reply;
  }
  return failed(why_unreachable(pid));
}
