#include "residency/pages/page_placeholders.hpp"

#include "base/log.hpp"

namespace tessera {
namespace {

bool has_nothing_mapped(const Page& page) {
  return !is_mapped(page.state) && page.state != PageState::kZeroCopy && !page.copy.backed;
}

}  // namespace

Status PagePlaceholders::cover(std::span<const PageRef> pages) {
  for (const PageRef& page : pages) {
    if (has_nothing_mapped(*page) && !covered_.contains(page.address())) TESSERA_TRY(cover(page));
  }
  return {};
}

Status PagePlaceholders::cover(PageRef page) {
  if (!frame_) {
    TESSERA_TRY_ASSIGN(frame_, machine_.driver.create_frame(machine_.device, FrameLocation::kDevice, kBasePage));
  }
  Bytes mapped;
  Status status;
  while (mapped < page.bytes() && status.is_ok()) {
    status = machine_.driver.map(page.address() + mapped, kBasePage, *frame_);
    if (status.is_ok()) mapped += kBasePage;
  }
  if (status.is_ok()) status = machine_.grant_access(page.address(), page.bytes());
  if (mapped) covered_.emplace(page.address(), mapped);
  if (!status.is_ok() && mapped) note_error(status, uncover(page.address()));
  return status;
}

Status PagePlaceholders::uncover(Address address) {
  const auto covered = covered_.find(address);
  if (covered == covered_.end()) return {};
  TESSERA_TRY(machine_.driver.unmap(address, covered->second));
  covered_.erase(covered);
  return {};
}

void PagePlaceholders::uncover_all() {
  for (auto page = covered_.begin(); page != covered_.end();) {
    const Address address = (page++)->first;
    const Status status = uncover(address);
    if (!status.is_ok()) log_line(LogLevel::kError, "a placeholder stays mapped: {}", status.to_string());
  }
  if (!frame_ || !covered_.empty()) return;
  const Status status = machine_.driver.destroy_frame(*frame_);
  if (!status.is_ok()) log_line(LogLevel::kError, "a placeholder cannot be freed: {}", status.to_string());
  frame_.reset();
}

}  // namespace tessera
