// Whether launches show the uses of a block (docs/decisions/0047-unhinted-access-by-block.md).
//
// A pure function of what is known of its uses; what follows from the answer is elsewhere.
//
// Thread safety: values.
#pragma once

#include <cstdint>

namespace tessera {

// kSeen: kernels that use it are given its address. kDoubtful: they were, and may have other ways to it by now.
// kUnseen: no kernel was given its address, so those that use it, if any do, have it from elsewhere.
enum class Visibility : std::uint8_t { kSeen, kDoubtful, kUnseen };

// What is known of a run's uses.
struct UseEvidence {
  bool named = false;      // by a launch, in the life of its block
  std::uint64_t idle = 0;  // launches since its last use, at most
  std::uint64_t gap = 0;   // between its last two uses; 0: unknown
  bool expected = false;   // the learner knows which launch names it next
};

Visibility visibility_of(const UseEvidence& evidence);

}  // namespace tessera
