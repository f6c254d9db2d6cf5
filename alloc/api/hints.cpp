// Calls for all devices at once: whole tags, the policy; and blocks used by several streams.
#include <algorithm>

#include <fmt/format.h>

#include "api/allocator.hpp"

namespace tessera {

Result<std::optional<TagId>> Allocator::tag_named(const char* name) const {
  if (name == nullptr) return std::optional<TagId>();
  const std::optional<TagId> tag = tags_.find(name);
  if (!tag) return Status(Code::kNotFound, fmt::format("no block was ever tagged '{}'", name));
  return tag;
}

Result<Moved> Allocator::sleep(const char* tag) { return on_all_heaps(tag, &Residency::sleep); }
Result<Moved> Allocator::wake(const char* tag) { return on_all_heaps(tag, &Residency::wake); }

// Calls every device, also after one failed.
Result<Moved> Allocator::on_all_heaps(const char* name, Result<Moved> (Residency::*act)(std::optional<TagId>)) {
  std::optional<TagId> tag;
  TESSERA_TRY_ASSIGN(tag, tag_named(name));
  Moved sum;
  Status result;
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap == nullptr) continue;
    const Result<Moved> moved = (heap->residency().*act)(tag);
    kick_pump(*heap);
    if (moved.is_ok()) {
      sum.moved += moved.value().moved;
      sum.stayed += moved.value().stayed;
    } else if (result.is_ok()) {
      result = moved.status();
    }
  }
  if (!result.is_ok()) return result;
  return sum;
}

Status Allocator::set_automatic(bool on) {
  const MutexLock lock(mutex_);
  for (const auto& heap : owned_) TESSERA_TRY(heap->residency().set_automatic(on));
  automatic_ = on;
  return {};
}

// The previous policies are destroyed outside of the locks, since a running simulation may take a while to cancel.
Status Allocator::set_policy(std::string_view name) {
  TESSERA_TRY(make_policy(name).status());
  std::vector<Guide> before;
  const MutexLock lock(mutex_);
  for (const auto& heap : owned_) {
    std::unique_ptr<Policy> policy;
    TESSERA_TRY_ASSIGN(policy, make_policy(name));
    before.push_back(heap->residency().set_policy(std::move(policy)));
  }
  if (policies_.size() == kMostTurns) policies_.erase(policies_.begin());
  policies_.push_back({log_.now() - began_, std::string(name)});
  return {};
}

Status Allocator::free_after(Address address, std::span<const StreamId> streams) {
  DeviceHeap* heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  const bool one = std::adjacent_find(streams.begin(), streams.end(), std::not_equal_to<>()) == streams.end();
  if (one) return free(address, streams.empty() ? kNoStream : streams.front());
  StreamId behind;
  TESSERA_TRY_ASSIGN(behind, heap->join().behind(streams));
  return free(address, behind);
}

}  // namespace tessera
