// A node's parameters as returned by cuGraphNodeGetParams.
//
// Thread safety: as for the node's graph.
#pragma once

#include <cstdint>
#include <variant>

#include "graphs.hpp"

namespace tessera::softcuda {

// A kernel node's parameters, for any version of cuda.h. They are returned as a list or as a buffer, as they were
// given; both are stored in the node, as documented.
template <class Params>
void tell_kernel(GraphNode& node, Params& params) {
  auto& work = std::get<KernelWork>(node.work);
  node.parameters.clear();
  for (std::uint32_t i = 0; i < work.kernel->parameter_count && !work.in_buffer; ++i) {
    node.parameters.push_back(work.packed.data() + work.kernel->parameters[i].offset);
  }
  node.parameter_bytes = work.packed.size();
  if (work.in_buffer) {
    node.parameters = {CU_LAUNCH_PARAM_BUFFER_POINTER, work.packed.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                       &node.parameter_bytes, CU_LAUNCH_PARAM_END};
  }
  params = {};
  params.func = work.handles.func;
  params.kern = work.handles.kern;
  params.ctx = work.handles.ctx;
  params.gridDimX = work.shape.grid.x;
  params.gridDimY = work.shape.grid.y;
  params.gridDimZ = work.shape.grid.z;
  params.blockDimX = work.shape.block.x;
  params.blockDimY = work.shape.block.y;
  params.blockDimZ = work.shape.block.z;
  params.sharedMemBytes = work.shape.shared;
  (work.in_buffer ? params.extra : params.kernelParams) = node.parameters.data();
}

// An allocation node's parameters, for any version of cuda.h.
template <class Params>
void tell_allocation(const AllocWork& work, Params& params) {
  params = {};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, static_cast<int>(work.memory->device().value())};
  params.bytesize = work.memory->bytes().value();
  params.dptr = work.memory->address().value();
}

// The lists point into the node, as documented. Errors: CUDA_ERROR_NOT_SUPPORTED for unsupported kinds.
CUresult params_of(GraphNode& node, CUgraphNodeParams& params);

}  // namespace tessera::softcuda
