// Talks to a running program through its control socket (shim/preload/control_server.hpp).
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

inline constexpr const char* kControlFolder = "TESSERA_CONTROL_DIR";  // a folder for the sockets of a program

// The folders where sockets may be, the one for new programs first: in XDG_RUNTIME_DIR, or per user in /tmp.
std::vector<std::string> control_folders();

struct ControlReply {
  std::uint64_t moved_bytes = 0;
  std::uint64_t stayed_bytes = 0;
  std::string problem{};  // "" on success
  bool reached = true;    // false: the program did not answer
};

struct ProgramState {
  bool asleep = false;    // all blocks were put to sleep, and none was used since
  std::string problem{};  // "" on success
};

// Sends `request`, a line without its end, to the process `pid`, wherever that was configured to listen, and returns
// its reply. Talks only to processes of this user.
ControlReply ask_program(int pid, const std::string& request, int timeout_seconds);
ProgramState ask_state(int pid, int timeout_seconds);
