// Serves requests of `tessera sleep`, `wake` and `control` of the same user for this process.
//
// A socket in a private folder, named after the process (tessera/control.h), and one thread that serves one request at
// a time:
//   "sleep TAG\n", "wake TAG\n"  ->  "ok MOVED STAYED\n" in bytes, or "error WHY\n"
//   "state\n"                    ->  "ok ASLEEP IDLE\n": 1 or 0, and nanoseconds since the last use
// where "TAG" is ":" followed by the tag (":" alone means the blocks without a tag), or "*" for all blocks. No request
// ends the program; a process of another user gets no reply. The size of a request and the time spent waiting for it
// are bounded. Sockets left in the folder by killed programs are removed.
//
// Thread safety: start_control and stop_control one at a time; everything else runs on the server thread.
#pragma once

namespace tessera::preload {

// Serves until stop_control(). If the folder is not private to this user, or no socket can be created, one line reports
// it. "" starts nothing. REQUIRES: the server is not running; `folder` is absolute.
void start_control(const char* folder);
// Completes the request in progress, then ends the thread and removes the socket. May block.
void stop_control();
// In a child of fork: the parent keeps serving, the child does not.
void forget_control();

}  // namespace tessera::preload
