// The part of NCCL's public interface that the preload library intercepts, in nccl.h's binary form.
//
// Why declared here: no build needs NCCL, and nccl.h includes the CUDA runtime's header. Enumerations are `int` in the
// ABI, communicators and windows are opaque, and a cudaStream_t is a CUstream. Checked against nccl.h of NCCL 2.32; a
// function missing from the program's NCCL is never called.
//
// Thread safety: no code.
#pragma once

#include <cstddef>

#include "cuda_api.hpp"

// Visible to the program, like the driver hooks.
#define TESSERA_NCCL_HOOK extern "C" __attribute__((visibility("protected"))) NcclResult

using NcclResult = int;  // ncclResult_t
using NcclType = int;    // ncclDataType_t
using NcclOp = int;      // ncclRedOp_t
struct NcclComm;         // what ncclComm_t points to
struct NcclWindow;       // what ncclWindow_t points to
struct NcclConfig;       // ncclConfig_t, of any version
struct NcclCollConfig;   // ncclCollConfig_t, of any version
struct NcclSimInfo;      // ncclSimInfo_t, of any version
struct NcclUniqueId {
  char bytes[128];
};

extern "C" {

// Collectives.
NcclResult ncclAllReduce(const void* send, void* receive, std::size_t count, NcclType type, NcclOp op, NcclComm* comm,
                         CUstream stream);
NcclResult ncclReduce(const void* send, void* receive, std::size_t count, NcclType type, NcclOp op, int root,
                      NcclComm* comm, CUstream stream);
NcclResult ncclBcast(void* buffer, std::size_t count, NcclType type, int root, NcclComm* comm, CUstream stream);
NcclResult ncclBroadcast(const void* send, void* receive, std::size_t count, NcclType type, int root, NcclComm* comm,
                         CUstream stream);
NcclResult ncclAllGather(const void* send, void* receive, std::size_t count, NcclType type, NcclComm* comm,
                         CUstream stream);
NcclResult ncclReduceScatter(const void* send, void* receive, std::size_t count, NcclType type, NcclOp op,
                             NcclComm* comm, CUstream stream);
NcclResult ncclAlltoAll(const void* send, void* receive, std::size_t count, NcclType type, NcclComm* comm,
                        CUstream stream);
NcclResult ncclGather(const void* send, void* receive, std::size_t count, NcclType type, int root, NcclComm* comm,
                      CUstream stream);
NcclResult ncclScatter(const void* send, void* receive, std::size_t count, NcclType type, int root, NcclComm* comm,
                       CUstream stream);

// The same, with a per-call configuration.
NcclResult ncclAllReduceConfig(const void* send, void* receive, std::size_t count, NcclType type, NcclOp op,
                               NcclComm* comm, CUstream stream, const NcclCollConfig* config);
NcclResult ncclReduceConfig(const void* send, void* receive, std::size_t count, NcclType type, NcclOp op, int root,
                            NcclComm* comm, CUstream stream, const NcclCollConfig* config);
NcclResult ncclBroadcastConfig(const void* send, void* receive, std::size_t count, NcclType type, int root,
                               NcclComm* comm, CUstream stream, const NcclCollConfig* config);
NcclResult ncclAllGatherConfig(const void* send, void* receive, std::size_t count, NcclType type, NcclComm* comm,
                               CUstream stream, const NcclCollConfig* config);
NcclResult ncclReduceScatterConfig(const void* send, void* receive, std::size_t count, NcclType type, NcclOp op,
                                   NcclComm* comm, CUstream stream, const NcclCollConfig* config);
NcclResult ncclAlltoAllConfig(const void* send, void* receive, std::size_t count, NcclType type, NcclComm* comm,
                              CUstream stream, const NcclCollConfig* config);
NcclResult ncclGatherConfig(const void* send, void* receive, std::size_t count, NcclType type, int root, NcclComm* comm,
                            CUstream stream, const NcclCollConfig* config);
NcclResult ncclScatterConfig(const void* send, void* receive, std::size_t count, NcclType type, int root,
                             NcclComm* comm, CUstream stream, const NcclCollConfig* config);

// Point to point.
NcclResult ncclSend(const void* send, std::size_t count, NcclType type, int peer, NcclComm* comm, CUstream stream);
NcclResult ncclRecv(void* receive, std::size_t count, NcclType type, int peer, NcclComm* comm, CUstream stream);
NcclResult ncclPutSignal(const void* local, std::size_t count, NcclType type, int peer, NcclWindow* window,
                         std::size_t offset, int signal, int context, unsigned flags, NcclComm* comm, CUstream stream);

NcclResult ncclGroupStart();
NcclResult ncclGroupEnd();
NcclResult ncclGroupSimulateEnd(NcclSimInfo* info);

// Calls that make NCCL retain an address.
NcclResult ncclCommRegister(const NcclComm* comm, void* buffer, std::size_t bytes, void** handle);
NcclResult ncclCommDeregister(const NcclComm* comm, void* handle);
NcclResult ncclCommWindowRegister(NcclComm* comm, void* buffer, std::size_t bytes, NcclWindow** window, int flags);
NcclResult ncclRedOpCreatePreMulSum(NcclOp* op, void* scalar, NcclType type, int residence, NcclComm* comm);

NcclResult ncclMemAlloc(void** buffer, std::size_t bytes);
NcclResult ncclMemFree(void* buffer);

NcclResult ncclCommInitAll(NcclComm** comms, int devices, const int* list);
NcclResult ncclCommInitRank(NcclComm** comm, int ranks, NcclUniqueId id, int rank);
NcclResult ncclCommInitRankConfig(NcclComm** comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config);
NcclResult ncclCommInitRankScalable(NcclComm** comm, int ranks, int rank, int ids, NcclUniqueId* list,
                                    NcclConfig* config);
NcclResult ncclCommSplit(NcclComm* comm, int color, int key, NcclComm** made, NcclConfig* config);
NcclResult ncclCommFinalize(NcclComm* comm);
NcclResult ncclCommDestroy(NcclComm* comm);
NcclResult ncclCommAbort(NcclComm* comm);
NcclResult ncclCommGetAsyncError(NcclComm* comm, NcclResult* error);

// Called by the hooks, not hooked.
NcclResult ncclCommCount(const NcclComm* comm, int* ranks);
NcclResult ncclCommUserRank(const NcclComm* comm, int* rank);
NcclResult ncclCommCuDevice(const NcclComm* comm, int* device);

}  // extern "C"

namespace tessera::preload {

constexpr NcclResult kNcclSuccess = 0;
constexpr NcclResult kNcclCudaError = 1;  // ncclUnhandledCudaError
constexpr NcclResult kNcclInvalidUsage = 5;
constexpr NcclResult kNcclInProgress = 7;  // from a non-blocking communicator
constexpr int kNcclScalarDevice = 0;       // ncclScalarResidence_t

}  // namespace tessera::preload
