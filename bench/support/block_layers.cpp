#include "block_layers.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "must.hpp"
#include "policy/policy.hpp"

namespace tessera::bench {
namespace {

// Live slots by slab.
using Slabs = std::map<const Run*, std::uint64_t>;

// Keeps the fullest slabs of a class, as many as its live slots need, and moves the slots of the other slabs there.
void repack(SizeClass size_class, const Slabs& slabs, Occupation& of) {
  const std::uint64_t slots = kBasePage / size_class.bytes();
  std::vector<std::uint64_t> live;
  std::uint64_t sum = 0;
  for (const auto& [run, count] : slabs) {
    live.push_back(count);
    sum += count;
  }
  std::ranges::sort(live, std::greater());
  const std::uint64_t needed = (sum + slots - 1) / slots;
  of.repacked += kBasePage * needed;
  for (std::uint64_t slab = needed; slab < live.size(); ++slab) of.moved += size_class.bytes() * live[slab];
}

}  // namespace

BlockLayers::BlockLayers(Bytes device)
    : sim_(sim_options({.device = device}), clock_),
      driver_(sim_, std::size_t{1} << 20),
      layers_(driver_, clock_, {.device = device}, sim_file(clock_, {}), host_pages_) {
  must(layers_.add_residency(must(make_policy("recency"))));
  must(layers_.add_pages(device * 4, device * 4));
  layers_.add_blocks();
  stream_ = must(driver_.create_stream(DeviceId()));
}

BlockLayers::~BlockLayers() { must(driver_.synchronize(DeviceId())); }

Address BlockLayers::allocate(Bytes bytes, TagId tag) { return must(layers_.blocks->allocate(bytes, stream_, tag)); }

void BlockLayers::free(Address address) { must(layers_.blocks->free(address, stream_)); }

Occupation BlockLayers::occupation(std::span<const LiveBlock> live) const {
  Occupation of;
  std::set<const Run*> runs;
  std::map<SizeClass, Slabs> slabs;
  std::set<std::uint64_t> windows;
  for (const LiveBlock& block : live) {
    const BlockInfo info = must(layers_.blocks->find(block.address));
    const Run* const run = info.run;
    of.used += block.bytes;
    const SizeClass size_class = *size_class_for(block.bytes);
    if (size_class.is_slot()) ++slabs[size_class][run];
    if (!runs.insert(run).second) continue;
    of.held += run->shape.bytes();
    (size_class.is_slot() ? of.in_slabs : of.repacked) += run->shape.bytes();
    of.base_pages += run->shape.tail();
    for (std::uint32_t page = run->shape.large; page < run->shape.pages(); ++page) {
      windows.insert((run->address + run->shape.offset(page)).value() / kLargePage.value());
    }
  }
  for (const auto& [size_class, own] : slabs) repack(size_class, own, of);
  of.windows = windows.size();
  return of;
}

BlockLayers::Trimmed BlockLayers::trim(std::span<const LiveBlock> live) {
  const Bytes before = layers_.pages->stats().in_runs, spare = layers_.device.usage().spare;
  driver_.clear();
  must(layers_.blocks->trim());
  const Bytes after = layers_.pages->stats().in_runs;
  must(after == occupation(live).held, "pages without live blocks remain");
  layers_.residency->trim();
  must(!layers_.device.usage().spare, "frames without pages remain");
  must(driver_.dropped() == 0, "calls were not counted");
  Trimmed trimmed{before - after, spare, 0};
  for (const DriverRecord& record : driver_.records()) {
    trimmed.unmaps += record.call == DriverCall::kUnmap;
  }
  return trimmed;
}

}  // namespace tessera::bench
