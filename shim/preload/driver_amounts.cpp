#include "driver_amounts.hpp"

#include "lifecycle.hpp"
#include "true_driver.hpp"

namespace tessera::preload {

void DriverAmounts::add(tessera_beside kind, std::uint64_t address, std::uint64_t bytes) {
  CUcontext context = nullptr;
  (void)call_true(&TrueDriver::cuCtxGetCurrent, &context);
  const std::lock_guard<std::mutex> lock(lock_);
  // An address that is known already ended with something else, unseen, or comes through two drivers.
  Entry& entry = entries_[address];
  if (entry.bytes != 0) count(entry.kind, totals_[entry.kind] -= entry.bytes);
  entry = {kind, bytes, context};
  count(kind, totals_[kind] += bytes);
}

void DriverAmounts::remove(tessera_beside kind, std::uint64_t address) {
  if (!any(kind)) return;
  const std::lock_guard<std::mutex> lock(lock_);
  const auto found = entries_.find(address);
  if (found == entries_.end() || found->second.kind != kind) return;
  count(kind, totals_[kind] -= found->second.bytes);
  entries_.erase(found);
}

void DriverAmounts::forget(CUcontext context) {
  const std::lock_guard<std::mutex> lock(lock_);
  std::erase_if(entries_, [&](const auto& known) {
    const Entry& entry = known.second;
    if (entry.context != context) return false;
    count(entry.kind, totals_[entry.kind] -= entry.bytes);
    return true;
  });
}

void DriverAmounts::tell(tessera_allocator* allocator) {
  const std::lock_guard<std::mutex> lock(lock_);
  for (std::size_t kind = 0; kind < TESSERA_BESIDE_KINDS; ++kind) {
    tessera_note_beside(allocator, static_cast<tessera_beside>(kind), totals_[kind].load());
  }
}

void DriverAmounts::count(tessera_beside kind, std::uint64_t total) {
  if (tessera_allocator* const allocator = running()) tessera_note_beside(allocator, kind, total);
}

DriverAmounts& driver_amounts() {
  static auto& amounts = *new DriverAmounts;  // never destroyed: exit handlers may free
  return amounts;
}

}  // namespace tessera::preload
