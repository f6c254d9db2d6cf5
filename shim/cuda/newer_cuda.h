/* Additions to cuda.h in CUDA 13.0 to 13.5 that Tessera needs, for builds with an older cuda.h (12.8 or newer).
 *
 * Why: a driver may be newer than the headers used for this build, and programs use functions of the driver's version.
 * Declarations have the names of cuda.h, and are omitted if cuda.h has them; the layouts are asserted in both cases.
 * Types whose contents we never read are only forward-declared.
 *
 * Thread safety: declarations only.
 */
#ifndef TESSERA_SHIM_CUDA_NEWER_CUDA_H
#define TESSERA_SHIM_CUDA_NEWER_CUDA_H

#include <assert.h>
#include <cuda.h>
#include <stddef.h>

#ifdef __cplusplus
#include <type_traits>
#endif

/* The newest CUDA whose entry points are all in hooks.inc and entry_points.txt. */
#define TESSERA_NEWEST_CUDA 13050

/* Enumerators that an older cuda.h lacks. */
enum {
  TESSERA_NODE_TYPE_MEMCPY_BATCH = 14,                   /* CU_GRAPH_NODE_TYPE_MEMCPY_BATCH, 13.5 */
  TESSERA_NODE_TYPE_FABRIC_CPY_BATCH = 18,               /* CU_GRAPH_NODE_TYPE_FABRIC_CPY_BATCH, 13.5 */
  TESSERA_MEM_OP_ATOMIC_REDUCTION = 8,                   /* CU_STREAM_MEM_OP_ATOMIC_REDUCTION, 13.1 */
  TESSERA_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL = 22 /* CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL, 13.4 */
};

/* One past the last device attribute of CUDA 13.5. */
enum { TESSERA_DEVICE_ATTRIBUTE_END = 162 };
#if CUDA_VERSION == TESSERA_NEWEST_CUDA
static_assert(CU_DEVICE_ATTRIBUTE_MAX == (int)TESSERA_DEVICE_ATTRIBUTE_END, "as in cuda.h");
#endif

/* The member of CUstreamBatchMemOpParams for an atomic reduction, 13.1. */
typedef struct {
  unsigned int operation;
  unsigned int flags;
  unsigned int reduction;
  unsigned int type;
  CUdeviceptr address;
  cuuint64_t value;
  CUdeviceptr alias; /* the driver's own */
} TesseraAtomicReduction;
static_assert(sizeof(TesseraAtomicReduction) <= sizeof(CUstreamBatchMemOpParams), "a member of the union");
#if CUDA_VERSION >= 13010
static_assert(offsetof(TesseraAtomicReduction, address) ==
                      offsetof(CUstreamBatchMemOpParams, atomicReduction.address) &&
                  offsetof(TesseraAtomicReduction, value) == offsetof(CUstreamBatchMemOpParams, atomicReduction.value),
              "as in cuda.h");
#endif

#if CUDA_VERSION < 13000
typedef enum CUatomicOperation_enum {
  CU_ATOMIC_OPERATION_INTEGER_ADD = 0,
  CU_ATOMIC_OPERATION_MAX = 13
} CUatomicOperation;
#endif

#if CUDA_VERSION < 13020
typedef struct CUstreamCigCaptureParams_st CUstreamCigCaptureParams;
#endif

#if CUDA_VERSION < 13030
typedef cuuint32_t CUlogicalEndpointId;

typedef enum CUgraphRecaptureStatus_enum {
  CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE = 0,
  CU_GRAPH_RECAPTURE_INELIGIBLE_FOR_UPDATE = 1,
  CU_GRAPH_RECAPTURE_ERROR = 2
} CUgraphRecaptureStatus;

typedef CUresult(CUDA_CB* CUgraphRecaptureCallback)(void* data, CUgraphNode node, const CUgraphNodeParams* original,
                                                    const CUgraphNodeParams* recaptured, CUgraphRecaptureStatus status);
#endif

#if CUDA_VERSION < 13050
typedef enum CUtensorMapAllocClass_enum {
  CU_TENSOR_MAP_ALLOC_CLASS_AUTO = 0,
  CU_TENSOR_MAP_ALLOC_CLASS_SMALL = 1,
  CU_TENSOR_MAP_ALLOC_CLASS_LARGE = 2
} CUtensorMapAllocClass;

typedef struct CUDA_MEMCPY_BATCH_NODE_PARAMS_V1_st {
  size_t count;
  CUdeviceptr* dsts;
  CUdeviceptr* srcs;
  size_t* sizes;
  CUmemcpyAttributes* attrs;
  size_t* attrsIdxs;
  size_t numAttrs;
  CUcontext ctx;
} CUDA_MEMCPY_BATCH_NODE_PARAMS;

typedef enum CUfabricCpyOperandType_enum {
  CU_FABRIC_COPY_OPERAND_TYPE_POINTER = 1,
  CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT = 2
} CUfabricCpyOperandType;

typedef struct CUfabricCpyOperand_st {
  CUfabricCpyOperandType type;
  union {
    struct {
      CUdeviceptr ptr;
      CUmemLocation locHint;
    } ptr;
    struct {
      CUlogicalEndpointId id;
      cuuint64_t offset;
    } le;
  } op;
} CUfabricCpyOperand;

typedef struct CUDA_FABRIC_COPY_BATCH_OP_st {
  CUfabricCpyOperand src;
  CUfabricCpyOperand dst;
  size_t size;
  unsigned int flags;
} CUDA_FABRIC_COPY_BATCH_OP;

typedef struct CUDA_FABRIC_CPY_BATCH_NODE_PARAMS_V1_st {
  size_t numOps;
  CUDA_FABRIC_COPY_BATCH_OP* opList;
  unsigned long long flags;
  CUcontext ctx;
} CUDA_FABRIC_CPY_BATCH_NODE_PARAMS;
#endif

#if CUDA_VERSION < 13010
typedef struct CU_DEV_SM_RESOURCE_GROUP_PARAMS_st {
  unsigned int smCount;
  unsigned int coscheduledSmCount;
  unsigned int preferredCoscheduledSmCount;
  unsigned int flags;
  unsigned int reserved[12];
} CU_DEV_SM_RESOURCE_GROUP_PARAMS;
#endif
static_assert(sizeof(CU_DEV_SM_RESOURCE_GROUP_PARAMS) == 64, "the layout of CUDA 13.5");

static_assert(sizeof(CUDA_MEMCPY_BATCH_NODE_PARAMS) == 64 && offsetof(CUDA_MEMCPY_BATCH_NODE_PARAMS, dsts) == 8 &&
                  offsetof(CUDA_MEMCPY_BATCH_NODE_PARAMS, srcs) == 16 &&
                  offsetof(CUDA_MEMCPY_BATCH_NODE_PARAMS, sizes) == 24 &&
                  offsetof(CUDA_MEMCPY_BATCH_NODE_PARAMS, numAttrs) == 48,
              "the layout of CUDA 13.5");
static_assert(sizeof(CUfabricCpyOperand) == 24 && offsetof(CUfabricCpyOperand, op) == 8, "the layout of CUDA 13.5");
static_assert(sizeof(CUDA_FABRIC_COPY_BATCH_OP) == 64 && offsetof(CUDA_FABRIC_COPY_BATCH_OP, dst) == 24 &&
                  offsetof(CUDA_FABRIC_COPY_BATCH_OP, size) == 48,
              "the layout of CUDA 13.5");
static_assert(sizeof(CUDA_FABRIC_CPY_BATCH_NODE_PARAMS) == 32 &&
                  offsetof(CUDA_FABRIC_CPY_BATCH_NODE_PARAMS, opList) == 8,
              "the layout of CUDA 13.5");
static_assert(sizeof(CUgraphNodeParams) == 256 && offsetof(CUgraphNodeParams, reserved1) == 16,
              "what a node's parameters are a union in");

/* Named as in cudaTypedefs.h, with the signature of the version in the name. */
typedef CUresult(CUDAAPI* PFN_cuDeviceGetP2PAtomicCapabilities_v13000)(unsigned int* capabilities,
                                                                       const CUatomicOperation* operations,
                                                                       unsigned int count, CUdevice source,
                                                                       CUdevice target);
typedef CUresult(CUDAAPI* PFN_cuCtxSynchronize_v13000)(CUcontext context);
typedef CUresult(CUDAAPI* PFN_cuMemSetMemPool_v13000)(CUmemLocation* location, CUmemAllocationType type,
                                                      CUmemoryPool pool);
typedef CUresult(CUDAAPI* PFN_cuMemcpyBatchAsync_v13000)(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                                                         size_t count, CUmemcpyAttributes* attributes,
                                                         size_t* attribute_indices, size_t attribute_count,
                                                         CUstream stream);
typedef CUresult(CUDAAPI* PFN_cuMemcpy3DBatchAsync_v13000)(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                                                           unsigned long long flags, CUstream stream);
typedef CUresult(CUDAAPI* PFN_cuMulticastBindAddr_v13010)(CUmemGenericAllocationHandle multicast, CUdevice device,
                                                          size_t offset, CUdeviceptr address, size_t bytes,
                                                          unsigned long long flags);
typedef CUresult(CUDAAPI* PFN_cuMulticastBindMem_v13010)(CUmemGenericAllocationHandle multicast, CUdevice device,
                                                         size_t offset, CUmemGenericAllocationHandle memory,
                                                         size_t from, size_t bytes, unsigned long long flags);
typedef CUresult(CUDAAPI* PFN_cuLaunchHostFunc_v13010)(CUstream stream, CUhostFn function, void* argument,
                                                       unsigned int mode);
typedef CUresult(CUDAAPI* PFN_cuDevSmResourceSplit_v13010)(CUdevResource* result, unsigned int groups,
                                                           const CUdevResource* input, CUdevResource* remainder,
                                                           unsigned int flags, CU_DEV_SM_RESOURCE_GROUP_PARAMS* params);
typedef CUresult(CUDAAPI* PFN_cuStreamGetDevResource_v13010)(CUstream stream, CUdevResource* resource,
                                                             CUdevResourceType type);
typedef CUresult(CUDAAPI* PFN_cuStreamBeginCaptureToCig_v13010)(CUstream stream, CUstreamCigCaptureParams* params);
typedef CUresult(CUDAAPI* PFN_cuStreamEndCaptureToCig_v13010)(CUstream stream);
typedef CUresult(CUDAAPI* PFN_cuFuncGetParamCount_v13020)(CUfunction function, size_t* count);
typedef CUresult(CUDAAPI* PFN_cuKernelGetParamCount_v13020)(CUkernel kernel, size_t* count);
typedef CUresult(CUDAAPI* PFN_cuGraphNodeGetParams_v13020)(CUgraphNode node, CUgraphNodeParams* params);
typedef CUresult(CUDAAPI* PFN_cuMemcpyWithAttributesAsync_v13020)(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                                                  CUmemcpyAttributes* attributes, CUstream stream);
typedef CUresult(CUDAAPI* PFN_cuMemcpy3DWithAttributesAsync_v13020)(CUDA_MEMCPY3D_BATCH_OP* copy,
                                                                    unsigned long long flags, CUstream stream);
typedef CUresult(CUDAAPI* PFN_cuLogicalEndpointBindAddr_v13030)(CUlogicalEndpointId endpoint, CUdevice device,
                                                                cuuint64_t offset, void* address, cuuint64_t bytes,
                                                                unsigned long long flags);
typedef CUresult(CUDAAPI* PFN_cuLogicalEndpointBindMem_v13030)(CUlogicalEndpointId endpoint, CUdevice device,
                                                               cuuint64_t offset, CUmemGenericAllocationHandle memory,
                                                               cuuint64_t from, cuuint64_t bytes,
                                                               unsigned long long flags);
typedef CUresult(CUDAAPI* PFN_cuStreamBeginRecaptureToGraph_v13030)(CUstream stream, CUstreamCaptureMode mode,
                                                                    CUgraph graph, CUgraphRecaptureCallback differs,
                                                                    void* data);
typedef CUresult(CUDAAPI* PFN_cuGraphAddNode_v13040)(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                                     const CUgraphEdgeData* edges, size_t count,
                                                     CUgraphNodeParams* params);
typedef CUresult(CUDAAPI* PFN_cuGraphNodeSetParams_v13040)(CUgraphNode node, CUgraphNodeParams* params);
typedef CUresult(CUDAAPI* PFN_cuFabricCpyBatchAsync_v13050)(size_t count, CUDA_FABRIC_COPY_BATCH_OP* copies,
                                                            unsigned long long flags, CUstream stream);
typedef CUresult(CUDAAPI* PFN_cuTensorMapSetAllocationClass_v13050)(CUtensorMap* map, CUtensorMapAllocClass requested,
                                                                    CUtensorMapAllocClass* given);

/* The ABI names. */
#ifdef __cplusplus
extern "C" {
extern std::remove_pointer_t<PFN_cuDeviceGetP2PAtomicCapabilities_v13000> cuDeviceGetP2PAtomicCapabilities;
extern std::remove_pointer_t<PFN_cuCtxSynchronize_v13000> cuCtxSynchronize_v2;
extern std::remove_pointer_t<PFN_cuMemSetMemPool_v13000> cuMemSetMemPool;
extern std::remove_pointer_t<PFN_cuMemcpyBatchAsync_v13000> cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz;
extern std::remove_pointer_t<PFN_cuMemcpy3DBatchAsync_v13000> cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz;
extern std::remove_pointer_t<PFN_cuMulticastBindAddr_v13010> cuMulticastBindAddr_v2;
extern std::remove_pointer_t<PFN_cuMulticastBindMem_v13010> cuMulticastBindMem_v2;
extern std::remove_pointer_t<PFN_cuLaunchHostFunc_v13010> cuLaunchHostFunc_v2, cuLaunchHostFunc_v2_ptsz;
extern std::remove_pointer_t<PFN_cuDevSmResourceSplit_v13010> cuDevSmResourceSplit;
extern std::remove_pointer_t<PFN_cuStreamGetDevResource_v13010> cuStreamGetDevResource, cuStreamGetDevResource_ptsz;
extern std::remove_pointer_t<PFN_cuStreamBeginCaptureToCig_v13010> cuStreamBeginCaptureToCig,
    cuStreamBeginCaptureToCig_ptsz;
extern std::remove_pointer_t<PFN_cuStreamEndCaptureToCig_v13010> cuStreamEndCaptureToCig, cuStreamEndCaptureToCig_ptsz;
extern std::remove_pointer_t<PFN_cuFuncGetParamCount_v13020> cuFuncGetParamCount;
extern std::remove_pointer_t<PFN_cuKernelGetParamCount_v13020> cuKernelGetParamCount;
extern std::remove_pointer_t<PFN_cuGraphNodeGetParams_v13020> cuGraphNodeGetParams;
extern std::remove_pointer_t<PFN_cuMemcpyWithAttributesAsync_v13020> cuMemcpyWithAttributesAsync,
    cuMemcpyWithAttributesAsync_ptsz;
extern std::remove_pointer_t<PFN_cuMemcpy3DWithAttributesAsync_v13020> cuMemcpy3DWithAttributesAsync,
    cuMemcpy3DWithAttributesAsync_ptsz;
extern std::remove_pointer_t<PFN_cuLogicalEndpointBindAddr_v13030> cuLogicalEndpointBindAddr;
extern std::remove_pointer_t<PFN_cuLogicalEndpointBindMem_v13030> cuLogicalEndpointBindMem;
extern std::remove_pointer_t<PFN_cuStreamBeginRecaptureToGraph_v13030> cuStreamBeginRecaptureToGraph,
    cuStreamBeginRecaptureToGraph_ptsz;
extern std::remove_pointer_t<PFN_cuGraphAddNode_v13040> cuGraphAddNode_v3;
extern std::remove_pointer_t<PFN_cuGraphNodeSetParams_v13040> cuGraphNodeSetParams_v2;
extern std::remove_pointer_t<PFN_cuFabricCpyBatchAsync_v13050> cuFabricCpyBatchAsync, cuFabricCpyBatchAsync_ptsz;
extern std::remove_pointer_t<PFN_cuTensorMapSetAllocationClass_v13050> cuTensorMapSetAllocationClass;
}
#endif

#endif
