// Ends of a process that run no handlers of atexit: _exit, as of workers that are made by fork, and a signal that
// nobody handles. What the options ask for at the end is written then too, in a bounded time.
//
// Why threads: a signal comes in the middle of anything, also of our own calls. The thread that it comes to may hold
// our locks, so it writes nothing: it goes on to the end of its call, or waits. One thread of ours has another write,
// and ends the process when that is done, or has taken too long.
//
// The program's own handlers stay, and so does how the process ends: after a signal, by that signal. A child of vfork,
// which is in the same memory, ends at once.
//
// Thread safety: as said at each function.
#pragma once

namespace tessera::preload {

// From now on such ends call `write`, once at most, on a thread of ours; it may wait for locks. False, with errno,
// where there is no thread to be had: then they write nothing. A child of fork begins anew. Not beside itself.
bool await_endings(void (*write)());
// Such ends write nothing any more. Any thread.
void forget_endings();

}  // namespace tessera::preload
