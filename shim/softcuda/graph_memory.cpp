#include "graph_memory.hpp"

#include <utility>

#include "base/atomic_max.hpp"
#include "base/log.hpp"
#include "machine.hpp"
#include "pools.hpp"

namespace tessera::softcuda {

void GraphAllocations::add(Address address) {
  const MutexLock lock(mutex_);
  allocated_[address] = false;
}

void GraphAllocations::remove(Address address) {
  const MutexLock lock(mutex_);
  allocated_.erase(address);
}

bool GraphAllocations::is_allocated(Address address) {
  const MutexLock lock(mutex_);
  const auto known = allocated_.find(address);
  return known != allocated_.end() && known->second;
}

void GraphAllocations::allocate(Address address) {
  const MutexLock lock(mutex_);
  if (const auto known = allocated_.find(address); known != allocated_.end()) known->second = true;
}

std::optional<bool> GraphAllocations::free(Address address) {
  const MutexLock lock(mutex_);
  const auto known = allocated_.find(address);
  if (known == allocated_.end()) return std::nullopt;
  return std::exchange(known->second, false);
}

Result<std::shared_ptr<GraphMemory>> GraphMemory::take(Machine& machine, Context& context, Bytes bytes) {
  TESSERA_TRY_ASSIGN(const Address address,
                     machine.memory.allocate(context, bytes, {.pool = default_pool(context.device)}));
  return std::make_shared<GraphMemory>(machine, context.device, address, bytes);
}

GraphMemory::GraphMemory(Machine& machine, DeviceId device, Address address, Bytes bytes)
    : machine_(machine), device_(device), address_(address), bytes_(bytes) {
  GraphMemoryUse& use = machine.graph_memory[device.value()];
  raise_to(use.high, use.now.fetch_add(bytes.value()) + bytes.value());
  machine.graph_allocations.add(address);
}

GraphMemory::~GraphMemory() {
  machine_.graph_allocations.remove(address_);
  machine_.graph_memory[device_.value()].now.fetch_sub(bytes_.value());
  Status status = machine_.driver.synchronize(device_);
  if (status.is_ok()) status = machine_.memory.free(address_);
  if (!status.is_ok()) {
    log_line(LogLevel::kDebug, "a graph's memory was not released: {}", status.to_string());
  }
}

}  // namespace tessera::softcuda
