#include "tier/backing_tier.hpp"

#include <algorithm>

namespace tessera {
namespace {

// Bytes of frames of a class that are kept ready: what is evicted for one large block.
Bytes ahead_of(PageClass page_class) { return std::max(2 * page_bytes(page_class), 8 * kBasePage); }

}  // namespace

BackingTier::BackingTier(Driver& driver, DeviceId first, Bytes capacity)
    : AliasTier(Location::kHost, driver, capacity, {first}), first_(first) {}

BackingTier::~BackingTier() {
  grower_.reset();
  destroy_all();
}

void BackingTier::grow_in_background() {
  grower_ = std::make_unique<HostGrower>([this] { return make_ahead(); });
}

Result<Frame> BackingTier::take(PageClass page_class) {
  if (grower_ == nullptr) return HandleTier::take(page_class);
  taken_[index_of(page_class)].store(true, std::memory_order_relaxed);
  Result<Frame> taken = Status(Code::kBusy, "the tier is being destroyed");
  if (const auto spare = take_spare(page_class)) {
    taken = *spare;
  } else {
    grower_->grow([&] {
      taken = HandleTier::take(page_class);
      return taken.is_ok();
    });
  }
  if (is_spare_below(page_class, ahead_of(page_class))) grower_->kick();
  return taken;
}

// Makes only one frame per call, so that a thread that needs one never waits for more.
bool BackingTier::make_ahead() {
  for (const PageClass page_class : kPageClasses) {
    const bool used = taken_[index_of(page_class)].load(std::memory_order_relaxed);
    if (used && make_spare(page_class, ahead_of(page_class))) return true;
  }
  return false;
}

Bytes BackingTier::reserve_of(Bytes capacity) { return std::min(2 * kLargePage, capacity / 2 / kBasePage * kBasePage); }

Result<AliasTier::Made> BackingTier::create_frame(Bytes bytes) {
  TESSERA_TRY_ASSIGN(const FrameId frame, driver_.create_frame(first_, FrameLocation::kHost, bytes));
  return Made{frame, first_};
}

Status BackingTier::destroy_frame(FrameId frame, Bytes) { return driver_.destroy_frame(frame); }

}  // namespace tessera
