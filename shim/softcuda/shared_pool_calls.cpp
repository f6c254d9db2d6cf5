// Pools exported to other processes, and pools imported from them.
//
// The handle of a pool is a file with all memory of the pool's location; the file position encodes the pool, so that
// only the file has to be sent. The export data of an allocation contain its offset in that file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

constexpr CUmemAllocationHandleType kPoolFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// The file position: the pool's number, and in the bits below it the device, or a value for the host. Positions for
// single frames have a size in their lowest bits.
constexpr std::uint64_t kPoolNumber = 2 << 20;
constexpr std::uint64_t kPoolDevice = 1 << 15;
constexpr std::uint64_t kPoolOfHost = kPoolNumber / kPoolDevice - 1;

// The data that cuMemPoolExportPointer returns.
struct ExportedPointer {
  std::uint64_t mark;
  PoolOrigin origin;
  std::uint64_t offset;  // in the file
  std::uint64_t mapped;  // bytes that the driver maps for it
  std::uint64_t bytes;   // requested size
  std::uint64_t unused[2];
};
static_assert(sizeof(ExportedPointer) == sizeof(CUmemPoolPtrExportData));
constexpr std::uint64_t kPointerMark = 0x50747245787031;

// 0 for an invalid descriptor.
std::uint64_t inode_of(int file) {
  struct stat found {};
  return ::fstat(file, &found) == 0 ? found.st_ino : 0;
}

// Pool handles are numbers that are never reused.
std::uint64_t number_of(CUmemoryPool pool) { return reinterpret_cast<std::uintptr_t>(pool) & 0xffffffff; }

FrameLocation location_of(const PoolPlace& place) {
  return place.of_device() ? FrameLocation::kDevice : FrameLocation::kHost;
}

DeviceId device_of(const PoolPlace& place) {
  return DeviceId(place.of_device() ? static_cast<std::uint64_t>(place.location.id) : 0);
}

PoolPlace place_at(std::uint64_t where) {
  if (where != kPoolOfHost) return place_of(DeviceId(where));
  return {CU_MEM_ALLOCATION_TYPE_PINNED, {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}};
}

// Calls body(machine, place) for a pool that was created as exportable.
CUresult on_exported(CUmemoryPool pool, auto&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    const auto place = machine.pools.place_of(pool);
    if (!place || !machine.pools.sharing(pool).exported) return CUDA_ERROR_INVALID_VALUE;
    return body(machine, *place);
  });
}

}  // namespace

CUresult cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool, CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  if (handle == nullptr || type != kPoolFile || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return on_exported(pool, [&](Machine& machine, const PoolPlace& place) -> CUresult {
    const auto file = machine.driver.share_all(device_of(place), location_of(place));
    if (!file.is_ok()) return to_result(file.status());
    const std::uint64_t where = place.of_device() ? device_of(place).value() : kPoolOfHost;
    ::lseek(file.value(), static_cast<off_t>(number_of(pool) * kPoolNumber + where * kPoolDevice), SEEK_SET);
    std::memcpy(handle, &file.value(), sizeof(int));
    return CUDA_SUCCESS;
  });
}

// The file descriptor itself is passed in place of a pointer to a handle; the caller keeps ownership.
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle, CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  if (pool == nullptr || type != kPoolFile || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_machine([&](Machine& machine) -> CUresult {
    const int given = static_cast<int>(reinterpret_cast<std::intptr_t>(handle));
    const auto position = static_cast<std::uint64_t>(std::max<off_t>(::lseek(given, 0, SEEK_CUR), 0));
    const std::uint64_t where = position % kPoolNumber / kPoolDevice;
    const bool here = where == kPoolOfHost || where < static_cast<std::uint64_t>(machine.environment.devices);
    if (position < kPoolNumber || position % kPoolDevice != 0 || !here) return CUDA_ERROR_INVALID_VALUE;
    const int own = ::fcntl(given, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (own < 0) return CUDA_ERROR_INVALID_VALUE;
    const PoolOrigin origin{.file = inode_of(own), .number = position / kPoolNumber};
    *pool = machine.pools.create(place_at(where), {.file = own, .origin = origin});
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_machine([&](Machine& machine) -> CUresult {
    const auto range = machine.ranges.find(Address(address));
    if (!range || range->base != Address(address) || range->imported) return CUDA_ERROR_INVALID_VALUE;
    return on_exported(range->pool, [&](Machine&, const PoolPlace& place) -> CUresult {
      const auto mapping = machine.driver.mapping_at(range->base);
      const auto file = machine.driver.share_all(device_of(place), location_of(place));
      if (!mapping || !file.is_ok()) return CUDA_ERROR_INVALID_VALUE;
      const ExportedPointer exported{.mark = kPointerMark,
                                     .origin = {inode_of(file.value()), number_of(range->pool)},
                                     .offset = mapping->frame.offset.value(),
                                     .mapped = mapping->bytes.value(),
                                     .bytes = range->bytes.value(),
                                     .unused = {}};
      ::close(file.value());
      *data = std::bit_cast<CUmemPoolPtrExportData>(exported);
      return CUDA_SUCCESS;
    });
  });
}

// Needs no current context. Importing device memory again returns the same address, and the first free releases it, as
// in real drivers of 2025; importing host memory again is an error.
CUresult cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  if (address == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_machine([&](Machine& machine) -> CUresult {
    const auto exported = std::bit_cast<ExportedPointer>(*data);
    const auto place = machine.pools.place_of(pool);
    const PoolSharing sharing = machine.pools.sharing(pool);
    const bool known = place && sharing.file >= 0 && exported.mark == kPointerMark && exported.origin == sharing.origin;
    if (!known || exported.bytes > exported.mapped) return CUDA_ERROR_INVALID_VALUE;
    if (const auto before = machine.ranges.find_imported(pool, Bytes(exported.offset))) {
      if (before->in_host_frame) return CUDA_ERROR_ALREADY_MAPPED;
      *address = before->base.value();
      return CUDA_SUCCESS;
    }
    Context& context = *machine.contexts.primary(device_of(*place));
    const SimPlace lies{.device = device_of(*place),
                        .location = location_of(*place),
                        .offset = Bytes(exported.offset),
                        .bytes = Bytes(exported.mapped)};
    const auto imported = machine.memory.adopt(context, sharing.file, lies, Bytes(exported.bytes), pool);
    if (!imported.is_ok()) return to_result(imported.status());
    *address = imported.value().value();
    return CUDA_SUCCESS;
  });
}
