// Runs a body in a child process, for effects that a process cannot undo: system call filters, limits.
//
// Thread safety: called from a process with one thread.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "refused_calls.h"

namespace tessera {

// Returns the body's result. A child that does not end fails through the test's own time limit.
template <class Body>
bool in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? EXIT_SUCCESS : EXIT_FAILURE);
  int state = 0;
  const bool ended = child > 0 && ::waitpid(child, &state, 0) == child;
  return ended && WIFEXITED(state) && WEXITSTATUS(state) == EXIT_SUCCESS;
}

inline bool refuse(const std::vector<refused_call>& rules) { return ::refuse_calls(rules.data(), rules.size()) == 0; }

// Whether this machine allows a process to filter its system calls.
inline bool can_refuse() {
  return in_child([] { return refuse({}); });
}

}  // namespace tessera
