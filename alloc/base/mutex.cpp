#include "base/mutex.hpp"

#include "base/check.hpp"

namespace tessera {
namespace {

// The ranks that this thread holds, innermost last. Eight nested locks are twice what the layers need.
constexpr int kMaxHeld = 8;
thread_local LockRank held[kMaxHeld];
thread_local int held_count = 0;

}  // namespace

namespace detail {

void note_lock(LockRank rank) {
  DCHECK_LT(held_count, kMaxHeld);
  if (held_count > 0) DCHECK_LT(static_cast<int>(held[held_count - 1]), static_cast<int>(rank));
  held[held_count++] = rank;
}

void note_unlock(LockRank rank) {
  DCHECK_GT(held_count, 0);
  int i = held_count - 1;
  while (i > 0 && held[i] != rank) --i;
  for (; i + 1 < held_count; ++i) held[i] = held[i + 1];
  --held_count;
}

}  // namespace detail

}  // namespace tessera
