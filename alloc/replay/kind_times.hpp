// Times for the operations of a recording that were not timed.
//
// A recorder times some operations of each kind (api/op_times.hpp): the same name on as many operands of as many bytes.
// The others of a kind took as long as its median, which the first launch of a kernel, slow as it is, does not move.
//
// Thread safety: pure function.
#pragma once

#include <span>

#include "replay/trace.hpp"

namespace tessera {

// `timed`: indices of operations whose time was measured; `unknown`: of those of which the trace says nothing.
void give_times_of_their_kind(Trace& trace, std::span<const std::uint32_t> timed,
                              std::span<const std::uint32_t> unknown);

}  // namespace tessera
