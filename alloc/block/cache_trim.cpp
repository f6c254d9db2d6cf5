#include "block/cache_trim.hpp"

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr Bytes kEverything{~std::uint64_t{0}};

}  // namespace

Status CacheTrim::trim() {
  MutexLock lock(mutex_);
  threads_.steal_all([this](Address address) { shared_.put(address); });
  TESSERA_TRY(residency_.poll_streams());
  shared_.settle_all();
  return shared_.give_back(kEverything, true);
}

// Removing a run waits for its uses; queued slots and places are waited for here.
Status CacheTrim::wait_and_trim() {
  MutexLock lock(mutex_);
  threads_.steal_all([this](Address address) { shared_.put(address); });
  TESSERA_TRY(residency_.poll_streams());
  const Late late = shared_.latest();
  const Status waited = residency_.waits().wait(late.mask, late.epoch, StreamWaits::Bound::kPatience);
  if (!waited.is_ok() && waited.code() != Code::kNotReady) return waited;  // work that does not end keeps its blocks
  shared_.settle_all();
  return shared_.give_back(kEverything, false);
}

void CacheTrim::shed() {
  const Bytes cached = shared_.cached_bytes();
  if (cached <= warm_limit_) return;
  MutexLock lock(mutex_);
  Status shed = residency_.poll_streams();
  if (shed.is_ok()) shed = shared_.give_back(cached - warm_limit_, true);
  if (!shed.is_ok()) log_line(LogLevel::kDebug, "cached blocks are kept: {}", shed.to_string());
}

}  // namespace tessera
