// Lets `tessera sleep` and `tessera wake` of the same user reach this process.
//
// A socket in a private folder, named for the process (tessera/control.h), and one thread that serves one request at a time:
//   "sleep TAG\n", "wake TAG\n"  ->  "ok MOVED STAYED\n" in bytes, or "error WHY\n"
// where "TAG" is ":" and the tag (":" alone is the blocks without a tag), or "*" for all blocks.
// Nothing it does ends the program; a process of another user gets no answer. A request, and the wait
// for it, are bounded. Sockets that killed programs left in the folder are removed.
//
// Thread safety: start_control and stop_control one at a time; the rest is its thread's.
#pragma once

namespace tessera::preload {

// Serves until stop_control(). Where the folder is not this user's alone, or no socket can be had, one
// line says so. "" starts nothing. REQUIRES: it does not run; `folder` is absolute.
void start_control(const char* folder);
// Answers the request under way, then ends the thread and removes the socket. May wait.
void stop_control();
// In a child of fork: the parent serves on, the child does not.
void forget_control();

}  // namespace tessera::preload
