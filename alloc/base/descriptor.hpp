// File descriptors of ours in a process of others.
//
// Thread safety: any thread.
#pragma once

namespace tessera {

// The same file under a number that is no standard stream's. A process that was started with one of them closed would
// read and write our file in its place. Takes `descriptor` over, and closes it when another program begins. -1 with
// errno when there is none, also for -1.
int away_from_standard(int descriptor);

}  // namespace tessera
