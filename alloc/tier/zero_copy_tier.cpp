#include "tier/zero_copy_tier.hpp"

namespace tessera {

// Frames that were written off are mapped for good, and count in the budget as long as this tier does.
ZeroCopyTier::~ZeroCopyTier() { host_.take_back(usage().lost); }

Result<Frame> ZeroCopyTier::take(PageClass page_class) {
  const Bytes bytes = page_bytes(page_class);
  if (!host_.lend(bytes)) return Status(Code::kOutOfMemory, "the budget of host memory has no room for the page");
  Result<Frame> frame = BackingTier::take(page_class);
  if (!frame.is_ok()) host_.take_back(bytes);
  return frame;
}

void ZeroCopyTier::give_back(Frame frame) {
  BackingTier::give_back(frame);
  trim();
  host_.take_back(frame.bytes());
}

}  // namespace tessera
