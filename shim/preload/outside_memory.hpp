// Device memory that the program has from the driver and not from the heap, by kind: it does not move.
//
// One call for each hook: where the driver has served a call that allocates, and where it has served one that frees.
// The totals go to the running Tessera (tessera_set_outside), which reports them and decides when a line is due. Once
// such memory is worth a line it starts Tessera, so that a program that allocates nothing else is reported too.
//
// Memory of handles (cuMemCreate) ends when the last handle is released and the last mapping unmapped. A mapping of
// device memory whose handle was not made in this process is imported: the memory of another process.
//
// Thread safety: any thread. These paths are not hot: the driver has just made an allocation of its own.
//
// Bounds: one entry for each live allocation of the driver, at most kMost of a kind; further ones are not counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

class OutsideMemory {
 public:
  // kUnmanaged: calls that make managed blocks elsewhere, such as cuMemAlloc in a second context.
  enum class Kind { kVirtual, kPool, kManaged, kArray, kImported, kUnmanaged };
  static constexpr std::size_t kKinds = 6;
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  struct Call {
    const char* name;
    const void* caller;  // the return address of the hook
  };

  // `key` is the address, handle or array that the call has returned.
  void took(Kind kind, std::uint64_t key, std::uint64_t bytes, CUdevice device, const Call& call);
  // Do nothing for a key that is not known.
  void gave_back(Kind kind, std::uint64_t key);
  void gave_back_address(std::uint64_t address);

  void mapped(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle, const Call& call);
  void unmapped(CUdeviceptr address, std::size_t bytes);
  void retained(CUmemGenericAllocationHandle handle);
  void released(CUmemGenericAllocationHandle handle);
  // What was allocated in the context ends with it.
  void context_ends(CUcontext context);

  // Tells a Tessera that has just started all totals.
  void tell(tessera_allocator* allocator);

 private:
  static constexpr std::size_t kDevices = 64;

  struct Entry {
    std::uint64_t bytes = 0;
    CUdevice device = 0;
    CUcontext context = nullptr;  // null for kVirtual, whose memory belongs to no context
    std::size_t handles = 1, mappings = 0;
  };
  using Entries = std::unordered_map<std::uint64_t, Entry>;
  struct Mapping {
    std::uint64_t bytes = 0;
    std::uint64_t handle = 0;  // in entries_; 0: imported
    CUdevice device = 0;
  };
  struct Total {
    std::array<std::uint64_t, kDevices> bytes{};
    const char* remedy = "";
    std::array<char, 96> first_call{};
  };

  Entries& entries(Kind kind) { return entries_[static_cast<std::size_t>(kind)]; }
  Total& total(Kind kind) { return totals_[static_cast<std::size_t>(kind)]; }
  void add(Kind kind, CUdevice device, std::uint64_t bytes, const Call& call);
  void subtract(Kind kind, CUdevice device, std::uint64_t bytes);
  void tell_one(tessera_allocator* allocator, Kind kind, CUdevice device);
  void erase_if_unused(Entries::iterator entry);

  std::mutex mutex_;
  std::array<Entries, kKinds> entries_;
  std::map<CUdeviceptr, Mapping> mappings_;
  std::array<Total, kKinds> totals_;
};

// The instance of this process.
OutsideMemory& outside_memory();

// Of an array with these extents and levels; 0 where it has no memory of its own (sparse, deferred).
std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels = 1);

// For the hooks: notes what was done if `result` is success, and returns it.
CUresult note_handle(CUresult result, const CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, const void* caller);
CUresult note_address(CUresult result, OutsideMemory::Kind kind, const CUdeviceptr* address, std::size_t bytes,
                      const OutsideMemory::Call& call);
// An allocation from a pool, which may be of host or managed memory.
CUresult note_pooled(CUresult result, const CUdeviceptr* address, std::size_t bytes, const OutsideMemory::Call& call);
CUresult note_array(CUresult result, std::uint64_t array, std::uint64_t bytes, const OutsideMemory::Call& call);
CUresult note_freed(CUresult result, CUdeviceptr address);

}  // namespace tessera::preload
