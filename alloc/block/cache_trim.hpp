// Returns cached blocks to the pages: steps 6 and 7 of block_cache.hpp, and what exceeds the warm limit.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include "base/mutex.hpp"
#include "block/shared_cache.hpp"
#include "block/thread_caches.hpp"

namespace tessera {

class CacheTrim {
 public:
  // REQUIRES: all of them outlive it. `warm_limit`: as in BlockCacheOptions.
  CacheTrim(Residency& residency, ThreadCaches& threads, SharedCache& shared, Bytes warm_limit)
      : residency_(residency), threads_(threads), shared_(shared), warm_limit_(warm_limit) {}

  // Step 6: all blocks whose work is complete. Errors: the first driver error; the other blocks are returned all the
  // same.
  Status trim();
  // Step 7: waits for pending work first, except for work that does not end. Errors: as trim().
  Status wait_and_trim();
  // Keeps the shared cache below its limit as far as possible without waiting.
  void shed();

 private:
  Residency& residency_;
  ThreadCaches& threads_;
  SharedCache& shared_;
  const Bytes warm_limit_;
  // Runs that are being returned to the pages are in no cache and not free yet. A thread that runs out of
  // memory meanwhile waits here and retries, so it never fails because of them.
  Mutex mutex_{LockRank::kGiveBack};
};

}  // namespace tessera
