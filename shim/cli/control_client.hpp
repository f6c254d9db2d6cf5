// Speaks to a running program through its control socket (shim/preload/control_server.hpp).
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Where sockets may be, the folder for new programs first: in XDG_RUNTIME_DIR, or in /tmp by user.
std::vector<std::string> control_folders();

struct ControlReply {
  std::uint64_t moved_bytes = 0;
  std::uint64_t stayed_bytes = 0;
  std::string problem;  // "" when it was done
};

// The answer of the process `pid` to `request`, a line without its end, wherever it was told to listen. Speaks
// only to processes of this user.
ControlReply ask_program(int pid, const std::string& request, int timeout_seconds);
