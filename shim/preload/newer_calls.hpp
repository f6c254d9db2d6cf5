// Driver functions newer than our lists: the program gets the driver's own, and one line at the first call warns of
// what may bypass Tessera.
//
// Why at the call: the CUDA runtime looks up every function of its version at start, and calls few of them. Why not for
// every function: most take no address. As the signature of such a function is unknown, the program gets an entry that
// inspects the arguments and passes them on unchanged to the driver's function. A call is reported if an argument is an
// address in the heap, or points to memory that begins with one; if an older form of the function is hooked, every call
// is reported. An argument register that the function does not use may look like an address.
//
// Thread safety: any thread.
//
// Bounds: kMostWatched functions; further ones are reported when they are looked up. One line for each.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera::preload {

inline constexpr std::size_t kMostWatched = 64;

enum class Watch {
  kAddresses,  // whether an argument is an address in the heap
  kAllCalls
};

// The entry to use for the driver's `function`; `function` itself if too many are watched already.
void* watch_newer(const char* symbol, void* function, Watch watch);

// Whether our lists contain the driver's export of this name, including older and newer forms of names known to be
// harmless.
bool is_known_name(const char* symbol);
// Whether another form of the name is hooked: without its number, or its default-stream suffix.
bool is_form_of_hook(const char* symbol);

// The version number of a form of `base`: 2 for cuMemAlloc_v2 of cuMemAlloc; 0 if `name` is not a form of `base`.
int form_number(std::string_view name, std::string_view base);

}  // namespace tessera::preload
