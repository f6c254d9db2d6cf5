// Starting a thread where none may be had.
//
// std::thread throws then, out of a call of the program's; whoever needs a thread goes on without it.
//
// Thread safety: stateless.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/status.hpp"

namespace tessera {

// REQUIRES: `thread` runs nothing. Errors: kBusy, as with too many threads or no memory for its stack.
template <class Body>
Status start_thread(std::thread& thread, Body&& body) {
  try {
    thread = std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    return {Code::kBusy, error.what()};
  }
  return {};
}

}  // namespace tessera
