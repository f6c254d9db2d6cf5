#include "node_params.hpp"

#include <cstring>

namespace tessera::softcuda {
namespace {

void tell(const CUDA_MEMSET_NODE_PARAMS& fill, CUgraphNodeParams& params) {
  params.memset = {fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height, nullptr};
}

}  // namespace

CUresult params_of(GraphNode& node, CUgraphNodeParams& params) {
  params = {};
  params.type = type_of(node.work);
  if (std::holds_alternative<KernelWork>(node.work)) {
    tell_kernel(node, params.kernel);
  } else if (const auto* const copy = std::get_if<CopyWork>(&node.work)) {
    params.memcpy.copyParams = copy->copy;
  } else if (const auto* const fill = std::get_if<FillWork>(&node.work)) {
    tell(fill->fill, params);
  } else if (const auto* const host = std::get_if<HostWork>(&node.work)) {
    params.host.fn = host->call.fn;
    params.host.userData = host->call.userData;
  } else if (const auto* const child = std::get_if<ChildWork>(&node.work)) {
    params.graph.graph = handle_of(child->graph.get());
  } else if (const auto* const wait = std::get_if<WaitWork>(&node.work)) {
    params.eventWait.event = wait->event;
  } else if (const auto* const record = std::get_if<RecordWork>(&node.work)) {
    params.eventRecord.event = record->event;
  } else if (const auto* const batch = std::get_if<BatchWork>(&node.work)) {
    const CUDA_MEMCPY_BATCH_NODE_PARAMS told = params_of(*batch);
    std::memcpy(&params.reserved1, &told, sizeof(told));
  } else if (const auto* const conditional = std::get_if<ConditionalWork>(&node.work)) {
    params.conditional = {handle_of(*conditional->condition), conditional->kind,
                          static_cast<unsigned>(conditional->handles->size()), conditional->handles->data(),
                          conditional->context};
  } else if (const auto* const alloc = std::get_if<AllocWork>(&node.work)) {
    tell_allocation(*alloc, params.alloc);
  } else if (const auto* const freed = std::get_if<FreeWork>(&node.work)) {
    params.free.dptr = freed->address;
  } else if (!std::holds_alternative<EmptyWork>(node.work)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::softcuda
