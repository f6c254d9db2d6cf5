#include "api/device_heap.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "api/budgets.hpp"
#include "base/available_processors.hpp"

namespace tessera {
namespace {

// Address space is nearly free, and a fragmented heap needs more of it than it has bytes: each stream's blocks of each
// tag are in windows of their own, however small the heap.
constexpr std::uint64_t kAddressesPerByte = 4;
constexpr Bytes kAddressesBeside = kLargePage * 1024;

}  // namespace

DeviceHeap::DeviceHeap(Driver& driver, DeviceId device, Bytes total_memory, Bytes budget, DeviceTier::Margin margin,
                       bool borrows)
    : device_(device),
      borrows_(borrows),
      total_memory_(total_memory),
      join_(driver, device),
      tier_(driver, device, budget, margin) {}

Result<std::unique_ptr<DeviceHeap>> DeviceHeap::create(Driver& driver, DeviceId device, const Below& below,
                                                       EventLog& log, const Options& options,
                                                       PlanSimulator::Answer answer, ClassOfTag class_of_tag) {
  DeviceProperties properties;
  TESSERA_TRY_ASSIGN(properties, driver.properties(device));
  if (!properties.virtual_memory) {
    const std::string& problem = properties.virtual_memory_problem;
    return Status(Code::kNotSupported,
                  fmt::format("device {} ({}) has no virtual memory management{}{}", device.value(), properties.name,
                              problem.empty() ? "" : ": ", problem));
  }
  MemoryInfo memory;
  TESSERA_TRY_ASSIGN(memory, driver.memory_info(device));
  const Bytes free = memory.free - std::min(memory.free, below.to_lend);
  std::unique_ptr<DeviceShare> sharing;
  if (below.ledgers != nullptr) sharing = DeviceShare::open(options, *below.ledgers, driver, device, properties);
  // What other programs hold may become free, so the limit is a part of the device.
  const bool all = sharing != nullptr && sharing->has_others();
  const Bytes most = all ? memory.total - std::min(memory.total, below.to_lend) : free;
  const Bytes budget = device_budget(options, {most, memory.total});
  const Bytes reserve = context_reserve(most);
  const DeviceTier::Margin margin{std::min(reserve, most - budget), reserve};
  if (properties.host_node) below.host.settle(*properties.host_node);
  std::unique_ptr<DeviceHeap> heap(new DeviceHeap(driver, device, memory.total, budget, margin, below.peer != nullptr));
  heap->share_ = std::move(sharing);

  std::unique_ptr<Policy> policy;
  TESSERA_TRY_ASSIGN(policy, make_policy(options.policy));
  const bool alone = answer == PlanSimulator::Answer::kWaits;  // the same answer at any time
  const double processors = available_processors();
  const std::size_t players = alone ? 1 : PlanSimulator::workers_beside(processors);
  const double part = alone ? 1 : Pace::share_of(processors, players);
  const auto simulate = [answer, players, part](const Policy& own) {
    return std::make_unique<PlanSimulator>(own, answer, players, part);
  };
  std::function<bool(Bytes, Bytes)> before_fetch;
  if (DeviceShare* const share = heap->share_.get()) {
    before_fetch = [share](Bytes needed, Bytes missing) { return share->before_fetch(needed, missing); };
  }
  const TierStack tiers{heap->tier_, below.host, below.file, below.backing, below.peer, below.zero_copy};
  TESSERA_TRY_ASSIGN(heap->residency_, Residency::create(driver, device, tiers, std::move(policy), log,
                                                         {options.low_watermark, options.high_watermark, simulate,
                                                          options.fingerprints == "on", std::move(class_of_tag),
                                                          options.grace, options.unhinted_access == "auto",
                                                          Nanoseconds(std::uint64_t{options.patience} * 1'000'000),
                                                          properties.queue_depth, std::move(before_fetch)}));
  if (heap->share_) {
    const Bytes own = memory.total - std::min(memory.total, below.to_lend);
    heap->share_->attach(heap->tier_, *heap->residency_, device_budget(Options(), {own, memory.total}));
  }
  heap->residency_->prepare_checks();
  const Bytes addresses = options.heap_size.value_or(tiers.capacity() * kAddressesPerByte + kAddressesBeside);
  TESSERA_TRY_ASSIGN(heap->pages_, PageManager::create(driver, *heap->residency_, std::max(addresses, 2 * kLargePage),
                                                       std::min(addresses, tiers.capacity())));
  heap->low_ = heap->pages_->low();
  heap->high_ = heap->pages_->high();
  heap->blocks_ = std::make_unique<BlockCache>(*heap->residency_, *heap->pages_,
                                               BlockCacheOptions::for_device(tiers.device.usage().capacity));
  return heap;
}

Result<LiveExtents*> DeviceHeap::live_extents() {
  if (LiveExtents* const made = live_extents_.load()) return made;
  const MutexLock lock(live_extents_lock_);
  if (!owned_live_extents_) {
    TESSERA_TRY_ASSIGN(owned_live_extents_, LiveExtents::create(low_, high_ - low_));
    live_extents_.store(owned_live_extents_.get());
  }
  return owned_live_extents_.get();
}

Status DeviceHeap::validate() const {
  TESSERA_TRY(blocks_->validate());
  TESSERA_TRY(pages_->validate());
  return residency_->figures().validate();
}

}  // namespace tessera
