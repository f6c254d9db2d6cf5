#include "residency/pages/page_mappings.hpp"

#include "base/log.hpp"

namespace tessera {
namespace {

// A driver that refuses this many times in a row is not tried again.
constexpr int kMostAliasRefusals = 8;

}  // namespace

// Maps the handles of the page's frame at its address, until one is refused.
Status PageMappings::map_handles(PageRef page, Bytes& mapped) {
  TESSERA_TRY(placeholders_.uncover(page));
  const auto handles = HandleTier::handles_of(*page->device);
  const Bytes each = page.bytes() / handles.size();
  for (const std::uint64_t handle : handles) {
    TESSERA_TRY(machine_.driver.map(page.address() + mapped, each, FrameId(handle)));
    mapped += each;
  }
  return {};
}

Status PageMappings::map_other(PageRef page, FrameId frame) {
  TESSERA_TRY(placeholders_.uncover(page));
  return machine_.driver.map(page.address(), page.bytes(), frame);
}

Status PageMappings::unmap_twice(Address address, Bytes bytes) {
  if (!bytes) return {};
  Status status = machine_.driver.unmap(address, bytes);
  if (!status.is_ok()) status = machine_.driver.unmap(address, bytes);
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
  Bytes mapped;
  Status status = map_handles(page, mapped);
  if (!status.is_ok()) give_back(page, mapped);
  return status;
}

// The first `mapped` bytes are mapped.
void PageMappings::give_back(PageRef page, Bytes mapped) {
  if (const Status status = unmap_twice(page.address(), mapped); !status.is_ok()) {
    log_line(LogLevel::kError, "a page could not be unmapped: {}", status.to_string());
    machine_.tiers.device.write_off(*page->device);
  } else {
    machine_.tiers.device.give_back(*page->device);
  }
  page->device.reset();
}

Status PageMappings::map(PageRef page) {
  Bytes mapped;
  Status status = map_handles(page, mapped);
  if (status.is_ok()) return status;
  if (const Status undone = unmap_twice(page.address(), mapped); !undone.is_ok()) {
    log_line(LogLevel::kError, "a page is partially mapped: {}", undone.to_string());
  }
  return status;
}

void PageMappings::unmap_or_log(std::span<const PageRef> pages) {
  for (const PageRef& page : pages) {
    const Status undone = unmap_twice(page.address(), page.bytes());
    if (!undone.is_ok()) log_line(LogLevel::kError, "a page could not be unmapped: {}", undone.to_string());
  }
}

Status PageMappings::unmap(std::span<const PageRef> pages, std::vector<PageRef>& unmapped) {
  Status status;
  return for_each_stretch(pages, [&](Address address, Bytes bytes, std::span<const PageRef> part) {
    if (status.is_ok()) status = machine_.driver.unmap(address, bytes);
    if (status.is_ok()) unmapped.insert(unmapped.end(), part.begin(), part.end());
    return status;
  });
}

Status PageMappings::grant_access(std::span<const PageRef> pages) {
  return for_each_stretch(pages, [&](Address address, Bytes bytes, std::span<const PageRef>) {
    return machine_.grant_access(address, bytes);
  });
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
