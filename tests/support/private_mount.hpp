// A private file system for a test, seen only by one child process and removed with it.
//
// For conditions that the machine's disk cannot provide on demand: a full disk, or no direct I/O.
//
// Thread safety: called from a process with one thread.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace tessera {

// The child process's result.
enum class InMount { kPassed, kFailed, kCannotMount };

// Mounts a file system of `type` with `options`, and runs `body(directory)` in a child process; the body returns
// whether everything was as expected.
template <class Body>
InMount in_private_mount(const char* type, const char* options, Body body) {
  constexpr int kCannotMount = 77;
  std::string directory = "/tmp/tessera-mount-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return InMount::kCannotMount;
  const pid_t child = ::fork();
  if (child == 0) {
    const int flags = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (::unshare(flags) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tessera-test", directory.c_str(), type, 0, options) != 0) {
      ::_exit(kCannotMount);
    }
    ::_exit(body(directory) ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int state = 0;
  const bool ended = child > 0 && ::waitpid(child, &state, 0) == child && WIFEXITED(state);
  ::rmdir(directory.c_str());
  if (!ended) return InMount::kFailed;
  if (WEXITSTATUS(state) == kCannotMount) return InMount::kCannotMount;
  return WEXITSTATUS(state) == EXIT_SUCCESS ? InMount::kPassed : InMount::kFailed;
}

}  // namespace tessera
