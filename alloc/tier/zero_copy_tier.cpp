#include "tier/zero_copy_tier.hpp"

namespace tessera {

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
