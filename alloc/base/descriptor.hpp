// Keeps our file descriptors apart from the program's standard streams.
//
// Thread safety: any thread.
#pragma once

namespace tessera {

// Moves a file to a descriptor other than 0, 1 or 2. A process that was started with a standard stream closed
// would otherwise read or write our file as that stream. Consumes `descriptor`; the result is close-on-exec.
// Returns -1 with errno if no descriptor is free, and -1 for -1.
int away_from_standard(int descriptor);

}  // namespace tessera
