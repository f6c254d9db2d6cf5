// Process exits that run no atexit handlers: _exit, as in workers made by fork, and an unhandled signal. The reports
// that the options ask for at exit are written then too, within a bounded time.
//
// Why threads: a signal may interrupt any code, including this library's. The interrupted thread may hold our locks, so
// it writes nothing: it continues to the end of its call, or waits. One thread of ours starts another that writes, and
// ends the process when the writing is done or has taken too long.
//
// The program's own handlers stay installed, and the process ends as it would have: after a signal, by that signal. A
// child of vfork, which shares the parent's memory, ends at once.
//
// Thread safety: see each function.
#pragma once

namespace tessera::preload {

// From now on such exits call `write`, at most once, on a thread of ours; `write` may wait for locks. Returns false,
// with errno, if no thread can be created: then these exits write nothing. A child of fork has to call this again. Not
// safe to call concurrently with itself.
bool await_endings(void (*write)());
// Such exits no longer write anything. Any thread.
void forget_endings();

}  // namespace tessera::preload
