// The HTTP requests of inference servers' sleep mode, answered for one running program.
//
//   POST /sleep?level=1&tags=TAG...    evicts all blocks, or those with the tags; level 1 and 2 are the same here
//   POST /wake_up?tags=TAG...          fetches them back
//   GET /is_sleeping                   {"is_sleeping": true}
//
// A web page in a browser on this machine can send requests to its ports: whatever a browser adds to them, or a name
// that is not this machine's, is refused. On a port a token is needed as well.
//
// Thread safety: values.
#pragma once

#include <functional>
#include <string>

#include "control_client.hpp"
#include "http_server.hpp"

// How the program is reached.
struct ControlDoor {
  std::string token{};  // of a port; "": it is a socket of the same user, and any Host is right
  std::function<ControlReply(const std::string& request)> move{};  // "sleep *", "wake :TAG"
  std::function<ProgramState()> state{};
};

HttpAnswer answer_control(const HttpRequest& request, const ControlDoor& door);
