// Entry points newer than CUDA 13.0 that are variants of earlier ones.
//
// Attributes of copies are hints here: the source is read in stream order, which satisfies every access order.
#include "boxes.hpp"
#include "call.hpp"
#include "capture.hpp"
#include "graph_call.hpp"
#include "node_params.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// Calls body(machine, stream).
template <class Body>
CUresult with_stream(CUstream stream, Body&& body) {
  return in_context([&](Machine& machine, Context&) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    return body(machine, id.value());
  });
}

CUresult queue(Machine& machine, const CUDA_MEMCPY3D& box, StreamId stream) {
  SOFTCUDA_TRY(check_box(box));
  const auto captured = capture_box(machine, box, stream);
  return captured ? *captured : copy_box(machine, box, stream);
}

// Bytes per element: those of the array if an end is one. 0 for an unknown array.
std::uint64_t element_of(Machine& machine, const CUmemcpy3DOperand& end) {
  if (end.type == CU_MEMCPY_OPERAND_TYPE_POINTER) return 1;
  const auto array = machine.arrays.find(end.op.array.array);
  return array ? array->element : 0;
}

// Lengths are in elements, which are bytes if neither end is an array.
CUresult box_of(Machine& machine, const CUDA_MEMCPY3D_BATCH_OP& copy, CUDA_MEMCPY3D& box) {
  const std::uint64_t from_element = element_of(machine, copy.src), to_element = element_of(machine, copy.dst);
  if (from_element == 0 || to_element == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t element = std::max(from_element, to_element);
  box = {};
  if (copy.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& from = copy.src.op.array;
    box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    box.srcArray = from.array;
    box.srcXInBytes = from.offset.x * element;
    box.srcY = from.offset.y;
    box.srcZ = from.offset.z;
  } else {
    const auto& from = copy.src.op.ptr;
    box.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    box.srcDevice = from.ptr;
    box.srcPitch = from.rowLength * element;
    box.srcHeight = from.layerHeight;
  }
  if (copy.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& to = copy.dst.op.array;
    box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    box.dstArray = to.array;
    box.dstXInBytes = to.offset.x * element;
    box.dstY = to.offset.y;
    box.dstZ = to.offset.z;
  } else {
    const auto& to = copy.dst.op.ptr;
    box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    box.dstDevice = to.ptr;
    box.dstPitch = to.rowLength * element;
    box.dstHeight = to.layerHeight;
  }
  box.WidthInBytes = copy.extent.width * element;
  box.Height = copy.extent.height;
  box.Depth = copy.extent.depth;
  return CUDA_SUCCESS;
}

// Both queries return CUDA_ERROR_INVALID_VALUE beyond the last parameter.
template <class Handle, class Info>
CUresult count_parameters(Handle function, Info info, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  size_t found = 0, offset = 0;
  CUresult result = info(function, found, &offset, nullptr);
  for (; result == CUDA_SUCCESS; result = info(function, ++found, &offset, nullptr)) {
  }
  if (result != CUDA_ERROR_INVALID_VALUE) return result;
  *count = found;
  return CUDA_SUCCESS;
}

}  // namespace

// ---- copies ------------------------------------------------------------------------------------

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes* attributes,
                                     CUstream stream) {
  if (attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return cuMemcpyAsync(to, from, bytes, stream);
}

CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* copy, unsigned long long flags, CUstream stream) {
  if (copy == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_stream(stream, [&](Machine& machine, StreamId id) -> CUresult {
    CUDA_MEMCPY3D box;
    SOFTCUDA_TRY(box_of(machine, *copy, box));
    return queue(machine, box, id);
  });
}

// As documented, not for the legacy stream. Logical endpoints are not supported, so nothing is remote.
CUresult cuFabricCpyBatchAsync(size_t count, CUDA_FABRIC_COPY_BATCH_OP* copies, unsigned long long flags,
                               CUstream stream) {
  if (copies == nullptr || count == 0 || flags != 0 || stream == CU_STREAM_LEGACY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return with_stream(stream, [&](Machine& machine, StreamId id) -> CUresult {
    for (size_t i = 0; i < count; ++i) {
      const auto& [from, to, bytes, more] = copies[i];
      if (more != 0) return CUDA_ERROR_INVALID_VALUE;
      if (from.type != CU_FABRIC_COPY_OPERAND_TYPE_POINTER || to.type != CU_FABRIC_COPY_OPERAND_TYPE_POINTER) {
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      SOFTCUDA_TRY(
          queue(machine, softcuda::box_of({to.op.ptr.ptr, End::kAny}, {from.op.ptr.ptr, End::kAny}, bytes), id));
    }
    return CUDA_SUCCESS;
  });
}

// ---- functions ---------------------------------------------------------------------------------

// The device decides how to wait.
CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void* argument, unsigned mode) {
  constexpr unsigned kModes = 2;  // blocking, and waiting in a loop
  return mode < kModes ? cuLaunchHostFunc(stream, function, argument) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetParamCount(CUfunction function, size_t* count) {
  return count_parameters(function, cuFuncGetParamInfo, count);
}
CUresult cuKernelGetParamCount(CUkernel kernel, size_t* count) {
  return count_parameters(kernel, cuKernelGetParamInfo, count);
}

// ---- graphs ------------------------------------------------------------------------------------

CUresult cuGraphAddNode_v3(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges,
                           size_t count, CUgraphNodeParams* params) {
  return cuGraphAddNode_v2(node, graph, after, edges, count, params);
}
CUresult cuGraphNodeSetParams_v2(CUgraphNode node, CUgraphNodeParams* params) {
  return cuGraphNodeSetParams(node, params);
}
CUresult cuGraphNodeGetParams(CUgraphNode handle, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return on_node(handle, [&](Machine& machine, GraphNode& node) {
    const bool hidden = machine.environment.parameters == Parameters::kHidden;
    if (hidden && std::holds_alternative<KernelWork>(node.work)) return CUDA_ERROR_NOT_SUPPORTED;
    return params_of(node, *params);
  });
}

CUresult cuStreamBeginRecaptureToGraph(CUstream stream, CUstreamCaptureMode mode, CUgraph handle,
                                       CUgraphRecaptureCallback differs, void* data) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  return on_graph(handle, [&](Machine& machine, Graph& graph) -> CUresult {
    const auto id = machine.streams.resolve(stream);
    if (!id.is_ok()) return to_result(id.status());
    return machine.captures.begin(id.value(), &graph, {}, mode, Recapture{differs, data});
  });
}
