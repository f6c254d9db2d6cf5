#include "driver_amounts.hpp"

#include <algorithm>

#include "lifecycle.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

// Managed memory that is larger than the device has to be a substitute for what Tessera does.
void advise_on_managed(std::uint64_t bytes) {
  static constinit std::atomic<bool> said{false};
  std::size_t free = 0, total = 0;
  if (said.load(std::memory_order_relaxed) || stays_out()) return;
  if (call_true(&TrueDriver::cuMemGetInfo_v2, &free, &total) != CUDA_SUCCESS || bytes <= total) return;
  if (said.exchange(true)) return;
  say("%llu MiB of managed memory on a device of %llu MiB are moved by the driver, not by Tessera, which moves what "
      "cudaMalloc allocates: unset TF_FORCE_UNIFIED_MEMORY (JAX, AlphaFold 3) or GGML_CUDA_ENABLE_UNIFIED_MEMORY "
      "(llama.cpp), set CUDF_PANDAS_RMM_MODE=async (cudf.pandas)",
      static_cast<unsigned long long>(bytes >> 20), static_cast<unsigned long long>(total >> 20));
}

}  // namespace

void DriverAmounts::add(tessera_beside kind, std::uint64_t address, std::uint64_t bytes) {
  CUcontext context = nullptr;
  (void)call_true(&TrueDriver::cuCtxGetCurrent, &context);
  std::uint64_t total = 0;
  {
    const std::lock_guard<std::mutex> lock(lock_);
    // An address that is known already ended with something else, unseen, or comes through two drivers.
    Entry& entry = entries_[address];
    if (entry.bytes != 0) count(entry.kind, totals_[entry.kind] -= entry.bytes);
    entry = {kind, bytes, context};
    total = totals_[kind] += bytes;
    count(kind, total);
  }
  if (kind == TESSERA_BESIDE_MANAGED) advise_on_managed(total);
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
    tessera_note_beside(allocator, static_cast<tessera_beside>(kind), peaks_[kind]);
    tessera_note_beside(allocator, static_cast<tessera_beside>(kind), totals_[kind].load());
  }
}

void DriverAmounts::count(tessera_beside kind, std::uint64_t total) {
  peaks_[kind] = std::max(peaks_[kind], total);
  if (tessera_allocator* const allocator = running()) tessera_note_beside(allocator, kind, total);
}

DriverAmounts& driver_amounts() {
  static auto& amounts = *new DriverAmounts;  // never destroyed: exit handlers may free
  return amounts;
}

}  // namespace tessera::preload
