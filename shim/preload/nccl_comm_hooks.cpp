// NCCL's communicators, its own memory, and the buffers that it retains by registration.
//
// NCCL shares its own memory with other devices and processes, so that memory comes from the driver and does not move:
// allocations that NCCL makes inside these calls are left alone, as are those made by its code on any thread
// (memory_hooks.cpp).
#include <atomic>

#include "exposure.hpp"
#include "nccl_ranks.hpp"
#include "nccl_work.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constinit std::atomic<std::uint64_t> devices_with_ranks{0};  // one bit each
constinit std::atomic<bool> shared{false};

}  // namespace

bool ranks_share_process() { return shared.load(std::memory_order_relaxed); }

}  // namespace tessera::preload

using namespace tessera::preload;

namespace {

constexpr const char* kRegistered = "registered with NCCL";

// A rank is on the current device. All ranks of a process have called this before NCCL queries peer access, since
// creating a communicator begins with a rendezvous of all its ranks.
void note_rank() {
  CUdevice device = 0;
  if (call_true(&TrueDriver::cuCtxGetDevice, &device) != CUDA_SUCCESS) return;
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((devices_with_ranks.fetch_or(bit) & ~bit) != 0) shared.store(true);
}

// NCCL's memory operations within such a call are not touched.
template <class Function, class... Args>
NcclResult inside(const void* caller, Function TrueNccl::*function, Args... args) {
  const TrueNccl* const nccl = nccl_for(caller);
  const Entry entry;
  return call_nccl(nccl, function, args...);
}

template <class Function>
NcclResult end_comm(const void* caller, Function TrueNccl::*function, NcclComm* comm) {
  NcclPending pending(comm);
  const NcclResult result = inside(caller, function, comm);
  pending.queued();
  return result;
}

// Printed once: a program registers many buffers.
void say_not_registered() {
  static constinit std::atomic<bool> said{false};
  if (!said.exchange(true)) say("NCCL: evictable memory is not registered; NCCL uses copies instead");
}

}  // namespace

// NCCL before 2.24 writes into the buffers of other ranks in its process without querying peer access, and later
// versions may if the buffers are registered, but kernels may only use blocks of their own device. peer_hooks.cpp has
// the answers for this case.
TESSERA_NCCL_HOOK ncclCommInitAll(NcclComm** comms, int devices, const int* list) {
  if (devices > 1) shared.store(true);
  return inside(__builtin_return_address(0), &TrueNccl::ncclCommInitAll, comms, devices, list);
}

TESSERA_NCCL_HOOK ncclCommInitRank(NcclComm** comm, int ranks, NcclUniqueId id, int rank) {
  note_rank();
  return inside(__builtin_return_address(0), &TrueNccl::ncclCommInitRank, comm, ranks, id, rank);
}

TESSERA_NCCL_HOOK ncclCommInitRankConfig(NcclComm** comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config) {
  note_rank();
  return inside(__builtin_return_address(0), &TrueNccl::ncclCommInitRankConfig, comm, ranks, id, rank, config);
}

TESSERA_NCCL_HOOK ncclCommInitRankScalable(NcclComm** comm, int ranks, int rank, int ids, NcclUniqueId* list,
                                           NcclConfig* config) {
  note_rank();
  return inside(__builtin_return_address(0), &TrueNccl::ncclCommInitRankScalable, comm, ranks, rank, ids, list, config);
}

TESSERA_NCCL_HOOK ncclCommSplit(NcclComm* comm, int color, int key, NcclComm** made, NcclConfig* config) {
  return inside(__builtin_return_address(0), &TrueNccl::ncclCommSplit, comm, color, key, made, config);
}

TESSERA_NCCL_HOOK ncclCommFinalize(NcclComm* comm) {
  return end_comm(__builtin_return_address(0), &TrueNccl::ncclCommFinalize, comm);
}

TESSERA_NCCL_HOOK ncclCommDestroy(NcclComm* comm) {
  return end_comm(__builtin_return_address(0), &TrueNccl::ncclCommDestroy, comm);
}

TESSERA_NCCL_HOOK ncclCommAbort(NcclComm* comm) {
  return end_comm(__builtin_return_address(0), &TrueNccl::ncclCommAbort, comm);
}

// A program has to call this until a non-blocking communicator has finished the requested operation.
TESSERA_NCCL_HOOK ncclCommGetAsyncError(NcclComm* comm, NcclResult* error) {
  const NcclResult result = inside(__builtin_return_address(0), &TrueNccl::ncclCommGetAsyncError, comm, error);
  if (result == kNcclSuccess && *error != kNcclInProgress) NcclPending(comm).queued();
  return result;
}

TESSERA_NCCL_HOOK ncclMemAlloc(void** buffer, std::size_t bytes) {
  return inside(__builtin_return_address(0), &TrueNccl::ncclMemAlloc, buffer, bytes);
}

TESSERA_NCCL_HOOK ncclMemFree(void* buffer) {
  return inside(__builtin_return_address(0), &TrueNccl::ncclMemFree, buffer);
}

// ---- addresses that NCCL retains ----------------------------------------------------------------

// Registration only makes collectives on the buffer faster, and NCCL also returns success if it skips a buffer. It
// cannot register memory mapped in parts, which is what the driver reports for our blocks
// (cuMemRetainAllocationHandle). Then the buffer is not registered, and may move.
TESSERA_NCCL_HOOK ncclCommRegister(const NcclComm* comm, void* buffer, std::size_t bytes, void** handle) {
  const auto address = reinterpret_cast<CUdeviceptr>(buffer);
  const bool ours = served(address);
  KeptBlocks kept(kRegistered);
  if (kept.add(address) != CUDA_SUCCESS) return kNcclCudaError;
  const NcclResult result =
      inside(__builtin_return_address(0), &TrueNccl::ncclCommRegister, comm, buffer, bytes, handle);
  if (result == kNcclSuccess) (void)kept.after(CUDA_SUCCESS);
  if (!ours || result != kNcclCudaError || handle == nullptr) return result;
  say_not_registered();
  *handle = nullptr;
  return kNcclSuccess;
}

// Old versions of NCCL reject the null handle of an unregistered buffer.
TESSERA_NCCL_HOOK ncclCommDeregister(const NcclComm* comm, void* handle) {
  if (handle == nullptr) return kNcclSuccess;
  return inside(__builtin_return_address(0), &TrueNccl::ncclCommDeregister, comm, handle);
}

// All ranks create a window together, from memory that can be mapped elsewhere: NCCL rejects cuMemAlloc memory, and
// ours as well.
TESSERA_NCCL_HOOK ncclCommWindowRegister(NcclComm* comm, void* buffer, std::size_t bytes, NcclWindow** window,
                                         int flags) {
  KeptBlocks kept(kRegistered);
  if (kept.add(reinterpret_cast<CUdeviceptr>(buffer)) != CUDA_SUCCESS) return kNcclCudaError;
  const NcclResult result =
      inside(__builtin_return_address(0), &TrueNccl::ncclCommWindowRegister, comm, buffer, bytes, window, flags);
  // In a group, or without blocking, the window is created later.
  if (result == kNcclSuccess || result == kNcclInProgress) (void)kept.after(CUDA_SUCCESS);
  return result;
}

// A scalar on the device is read whenever a collective with this operation runs.
TESSERA_NCCL_HOOK ncclRedOpCreatePreMulSum(NcclOp* op, void* scalar, NcclType type, int residence, NcclComm* comm) {
  KeptBlocks kept("scalar of an NCCL reduction");
  const bool on_device = residence == kNcclScalarDevice;
  const auto address = reinterpret_cast<CUdeviceptr>(scalar);
  if (on_device && kept.add(address) != CUDA_SUCCESS) return kNcclCudaError;
  const NcclResult result =
      inside(__builtin_return_address(0), &TrueNccl::ncclRedOpCreatePreMulSum, op, scalar, type, residence, comm);
  if (result == kNcclSuccess) (void)kept.after(CUDA_SUCCESS);
  return result;
}
