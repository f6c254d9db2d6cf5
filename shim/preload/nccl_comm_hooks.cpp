// NCCL's communicators, its own memory, and the buffers that it keeps by registration.
//
// NCCL shares its own memory with other devices and processes, so it is the driver's and stays where it is:
// what NCCL allocates inside of these calls is left alone, as is what comes from its code on any thread
// (memory_hooks.cpp).
#include <atomic>

#include "exposure.hpp"
#include "nccl_ranks.hpp"
#include "nccl_work.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constinit std::atomic<std::uint64_t> devices_with_ranks{0};  // a bit each
constinit std::atomic<bool> shared{false};

}  // namespace

bool ranks_share_process() { return shared.load(std::memory_order_relaxed); }

}  // namespace tessera::preload

using namespace tessera::preload;

namespace {

constexpr const char* kRegistered = "registered with NCCL";

// A rank is on the current device. All ranks of a process are here before NCCL asks which devices are
// peers, since making a communicator begins with a meeting of all its ranks.
void note_rank() {
  CUdevice device = 0;
  if (call_true(&TrueDriver::cuCtxGetDevice, &device) != CUDA_SUCCESS) return;
  const std::uint64_t bit = std::uint64_t{1} << (device % 64);
  if ((devices_with_ranks.fetch_or(bit) & ~bit) != 0) shared.store(true);
}

// What NCCL does with memory in a call is its own business.
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

// Once: a program registers many buffers.
void say_not_registered() {
  static constinit std::atomic<bool> said{false};
  if (!said.exchange(true)) say("NCCL: memory that moves is used without registration, by copies");
}

}  // namespace

// NCCL before 2.24 writes into the buffers of other ranks of its process without asking, and later
// ones may where these are registered; kernels use the blocks of their own device alone. See
// peer_hooks.cpp for what is answered then.
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

// A program must ask this until a communicator that does not block has done what it was called for.
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

// ---- addresses that NCCL keeps ------------------------------------------------------------------

// To register a buffer only makes its collectives faster, and NCCL says success too where it leaves one
// out. It cannot register what is mapped in parts, which the driver tells it of our blocks
// (cuMemRetainAllocationHandle); then the buffer is left out, and may move.
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

// Old versions of NCCL refuse the handle of a buffer that was left out.
TESSERA_NCCL_HOOK ncclCommDeregister(const NcclComm* comm, void* handle) {
  if (handle == nullptr) return kNcclSuccess;
  return inside(__builtin_return_address(0), &TrueNccl::ncclCommDeregister, comm, handle);
}

// A window is made by all ranks together, of memory that can be mapped elsewhere: NCCL refuses memory of
// cuMemAlloc, and ours likewise.
TESSERA_NCCL_HOOK ncclCommWindowRegister(NcclComm* comm, void* buffer, std::size_t bytes, NcclWindow** window,
                                         int flags) {
  KeptBlocks kept(kRegistered);
  if (kept.add(reinterpret_cast<CUdeviceptr>(buffer)) != CUDA_SUCCESS) return kNcclCudaError;
  const NcclResult result =
      inside(__builtin_return_address(0), &TrueNccl::ncclCommWindowRegister, comm, buffer, bytes, window, flags);
  // In a group, and without blocking, the window is made later.
  if (result == kNcclSuccess || result == kNcclInProgress) (void)kept.after(CUDA_SUCCESS);
  return result;
}

// A scalar on the device is read whenever a collective with the operation runs.
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
