// Shared memory whose size the launch gives, as the host compiler understands it.
//
// `extern __shared__ T name[];` names memory that CUDA's compiler lays out. Here the launch brings it, at
// an address that is known when a block runs, so the declaration becomes a reference to an array there.
// One outside of all functions becomes one in each kernel behind it.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace softnvrtc {

// The source with such declarations written anew; all lines stay where they are.
std::string with_dynamic_shared(std::string_view source);

}  // namespace softnvrtc
