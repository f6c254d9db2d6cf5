// Graph and capture calls of earlier CUDA versions, which had fewer parameters or members.
#include "cuda_api.hpp"
#include "default_stream.hpp"

#undef cuGraphInstantiate
#undef cuGraphExecUpdate
#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeGetParams
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
#undef cuGraphAddNode
#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies

namespace {

CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1& params) {
  return {params.func,         params.gridDimX,  params.gridDimY,  params.gridDimZ,
          params.blockDimX,    params.blockDimY, params.blockDimZ, params.sharedMemBytes,
          params.kernelParams, params.extra,     nullptr,          nullptr};
}

// These versions only have functions.
CUDA_KERNEL_NODE_PARAMS_v1 older(const CUDA_KERNEL_NODE_PARAMS& params, CUfunction function) {
  return {function,         params.gridDimX,  params.gridDimY,       params.gridDimZ,     params.blockDimX,
          params.blockDimY, params.blockDimZ, params.sharedMemBytes, params.kernelParams, params.extra};
}

using tessera::softcuda::PerThreadDefaultStream;

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* at, char* text, size_t room) {
  if (at != nullptr) *at = nullptr;
  if (text != nullptr && room != 0) *text = '\0';
  return cuGraphInstantiateWithFlags(exec, graph, 0);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* at, char* text, size_t room) {
  return cuGraphInstantiate(exec, graph, at, text, room);
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* at, CUgraphExecUpdateResult* result) {
  if (at == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExecUpdateResultInfo info{};
  const CUresult updated = cuGraphExecUpdate_v2(exec, graph, &info);
  *at = info.errorNode;
  *result = info.result;
  return updated;
}

CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS all = newer(*params);
  return cuGraphAddKernelNode_v2(node, graph, after, count, &all);
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS all{};
  const CUresult result = cuGraphKernelNodeGetParams_v2(node, &all);
  if (result != CUDA_SUCCESS) return result;
  CUfunction function = all.func;
  if (function == nullptr) {
    const CUresult found = cuKernelGetFunction(&function, all.kern);
    if (found != CUDA_SUCCESS) return found;
  }
  *params = older(all, function);
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS all = newer(*params);
  return cuGraphKernelNodeSetParams_v2(node, &all);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS all = newer(*params);
  return cuGraphExecKernelNodeSetParams_v2(exec, node, &all);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* list, size_t* count) {
  return cuGraphNodeGetDependencies_v2(node, list, nullptr, count);
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* list, size_t* count) {
  return cuGraphNodeGetDependentNodes_v2(node, list, nullptr, count);
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return cuGraphRemoveDependencies_v2(graph, from, to, nullptr, count);
}
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                        CUgraphNodeParams* params) {
  return cuGraphAddNode_v2(node, graph, after, nullptr, count, params);
}

CUresult cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  const PerThreadDefaultStream scope;
  return cuStreamBeginCapture(stream);
}
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number) {
  return cuStreamGetCaptureInfo_v3(stream, status, number, nullptr, nullptr, nullptr, nullptr);
}
CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number) {
  const PerThreadDefaultStream scope;
  return cuStreamGetCaptureInfo(stream, status, number);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number, CUgraph* graph,
                                   const CUgraphNode** nodes, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, number, graph, nodes, nullptr, count);
}
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* number,
                                        CUgraph* graph, const CUgraphNode** nodes, size_t* count) {
  const PerThreadDefaultStream scope;
  return cuStreamGetCaptureInfo_v2(stream, status, number, graph, nodes, count);
}
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* nodes, size_t count, unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, nodes, nullptr, count, flags);
}
CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream, CUgraphNode* nodes, size_t count, unsigned flags) {
  const PerThreadDefaultStream scope;
  return cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
}

#pragma GCC visibility pop
}
