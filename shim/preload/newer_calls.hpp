// Functions of a driver that is newer than our lists: the program has the driver's own, and a line says at the call
// what may go past us.
//
// Why at the call: the CUDA runtime looks up every function of its time when it starts, and calls few of them. Why not
// all of them: most take no address. What a function takes is not known, so the program gets an entry that looks at
// its arguments and goes on to the driver's function, with all of them as they were. A function counts if an
// argument is an address in the heap, or the memory that an argument points to begins with such; of a function that
// our hooks have in an older form each call counts. An argument that a function does not have may look like one.
//
// Thread safety: any thread.
//
// Bounds: kMostWatched functions; of further ones a line tells when they are looked up. One line for each.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera::preload {

inline constexpr std::size_t kMostWatched = 64;

enum class Watch {
  kAddresses,  // whether it is given any
  kAllCalls
};

// The entry for the driver's `function`; itself where there are too many.
void* watch_newer(const char* symbol, void* function, Watch watch);

// Whether our lists know what the driver exports by this name, also as an older or newer form of a name that is known
// to be harmless.
bool is_known_name(const char* symbol);
// Whether hooks have the name in another form: without its number, or the suffix of a default stream.
bool is_form_of_hook(const char* symbol);

// Which form of `base` the name is: 2 for cuMemAlloc_v2 of cuMemAlloc; 0 if it is of another.
int form_number(std::string_view name, std::string_view base);

}  // namespace tessera::preload
