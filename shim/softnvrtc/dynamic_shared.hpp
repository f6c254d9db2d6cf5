// Rewrites dynamically sized shared memory for the host compiler.
//
// `extern __shared__ T name[];` declares memory laid out by CUDA's compiler. Here the launch supplies it, at an address
// known when a block runs, so the declaration becomes a reference to an array at that address. A declaration outside
// all functions becomes one in each later kernel.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace softnvrtc {

// Returns the source with such declarations rewritten; line numbers do not change.
std::string with_dynamic_shared(std::string_view source);

}  // namespace softnvrtc
