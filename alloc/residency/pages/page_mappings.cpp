#include "residency/pages/page_mappings.hpp"

#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

// A driver that refuses this many times in a row is not tried again.
constexpr int kMostAliasRefusals = 8;

}  // namespace

Status PageMappings::map_other(PageRef page, FrameId frame) {
  TESSERA_TRY(placeholders_.uncover(page));
  const Nanoseconds begin = machine_.log.now();
  Status status = machine_.driver.map(page.address(), page.bytes(), frame);
  mapping_ += machine_.log.now() - begin;
  return status;
}

Status PageMappings::unmap_twice(Address address, Bytes bytes) {
  Status status = machine_.driver.unmap(address, bytes);
  if (!status.is_ok()) status = machine_.driver.unmap(address, bytes);
  return status;
}

Status PageMappings::unmap_stretch(Address address, Bytes bytes, std::size_t pages) {
  const Nanoseconds begin = machine_.log.now();
  Status status = machine_.driver.unmap(address, bytes);
  if (status.is_ok()) meter_.note_unmapped(pages, machine_.log.now() - begin);
  return status;
}

Status PageMappings::take(PageRef page) {
  TESSERA_TRY_ASSIGN(page->device, machine_.tiers.device.take(page.page_class()));
  return map_or_give_back(page);
}

Status PageMappings::take_apart(PageRef page) {
  TESSERA_TRY_ASSIGN(page->device, machine_.tiers.device.take(page.page_class()));
  if (open_aliases({&page, 1})) return {};
  give_back_apart(page);
  return Status(Code::kNotSupported, "device memory cannot be mapped twice");
}

Status PageMappings::map_or_give_back(PageRef page) {
  Status status = map(page);
  if (!status.is_ok()) give_back_apart(page);
  return status;
}

void PageMappings::give_back_apart(PageRef page) {
  machine_.tiers.device.give_back(*page->device);
  page->device.reset();
}

void PageMappings::give_back(PageRef page) {
  const Status status = unmap_twice(page.address(), page.bytes());
  if (status.is_ok()) return give_back_apart(page);
  log_line(LogLevel::kError, "a page could not be unmapped: {}", status.to_string());
  machine_.tiers.device.write_off(*page->device);
  page->device.reset();
}

Status PageMappings::map(PageRef page) { return map_other(page, DeviceTier::handle_of(*page->device)); }

void PageMappings::unmap_or_log(std::span<const PageRef> pages) {
  for (const PageRef& page : pages) {
    const Status undone = unmap_twice(page.address(), page.bytes());
    if (!undone.is_ok()) log_line(LogLevel::kError, "a page could not be unmapped: {}", undone.to_string());
  }
}

Status PageMappings::unmap(std::span<const PageRef> pages, std::vector<PageRef>& unmapped) {
  Status status;
  return for_each_stretch(pages, [&](Address address, Bytes bytes, std::span<const PageRef> part) {
    if (status.is_ok()) status = unmap_stretch(address, bytes, part.size());
    if (status.is_ok()) unmapped.insert(unmapped.end(), part.begin(), part.end());
    return status;
  });
}

Status PageMappings::grant_access(std::span<const PageRef> pages) {
  const Nanoseconds begin = machine_.log.now(), mapping = std::exchange(mapping_, {});
  Status status = for_each_stretch(pages, [&](Address address, Bytes bytes, std::span<const PageRef>) {
    return machine_.grant_access(address, bytes);
  });
  if (status.is_ok() && !pages.empty()) {
    meter_.note_mapped(pages.size(), mapping + (machine_.log.now() - begin), bool(ledger_.copying_to_host()));
  }
  return status;
}

bool PageMappings::open_aliases(std::span<const PageRef> pages) {
  if (alias_refusals_ >= kMostAliasRefusals) return false;
  for (const PageRef& page : pages) {
    const Status opened = machine_.tiers.device.open_alias(*page->device);
    if (opened.is_ok()) continue;
    if (alias_refusals_++ == 0) {
      log_line(LogLevel::kWarning,
               "device memory cannot be mapped twice, so writes to a block by a kernel whose launch does "
               "not show that block may be lost during its eviction: {}",
               opened.to_string());
    }
    return false;
  }
  alias_refusals_ = 0;
  return true;
}

Address PageMappings::bytes_at(PageRef page) const {
  return is_apart(page->state) ? machine_.tiers.device.alias_of(*page->device) : page.address();
}

}  // namespace tessera
