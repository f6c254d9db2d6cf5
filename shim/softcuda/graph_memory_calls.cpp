// cuGraphAddMem*Node and cuDevice*GraphMem*: graph allocations, and their amounts.
#include "graph_call.hpp"
#include "node_params.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

template <class Body>
CUresult on_use(CUdevice device, Body&& body) {
  return with_machine([&](Machine& machine) -> CUresult {
    if (device < 0 || device >= machine.environment.devices) return CUDA_ERROR_INVALID_DEVICE;
    return body(machine.graph_memory[static_cast<std::size_t>(device)]);
  });
}

}  // namespace

CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (node == nullptr || params == nullptr || params->bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  return with_machine([&](Machine& machine) -> CUresult {
    const CUmemLocation& where = params->poolProps.location;
    const bool known =
        where.type == CU_MEM_LOCATION_TYPE_DEVICE && where.id >= 0 && where.id < machine.environment.devices;
    if (!known) return CUDA_ERROR_INVALID_VALUE;
    Context& context = *machine.contexts.primary(DeviceId(static_cast<std::uint64_t>(where.id)));
    const auto memory = GraphMemory::take(machine, context, Bytes(params->bytesize));
    if (!memory.is_ok()) return to_result(memory.status());
    params->dptr = memory.value()->address().value();
    return add_node(node, graph, after, nullptr, count, [&](Machine&, Work& work) {
      work = AllocWork{memory.value()};
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_work<AllocWork>(node, [&](const AllocWork& work) { tell_allocation(work, *params); });
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                               CUdeviceptr address) {
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  return add_node(node, graph, after, nullptr, count, [&](Machine&, Work& work) {
    work = FreeWork{address};
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_work<FreeWork>(node, [&](const FreeWork& work) { *address = work.address; });
}

// Reserved memory equals used memory.
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return on_use(device, [&](GraphMemoryUse& use) -> CUresult {
    if (value == nullptr || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    *static_cast<cuuint64_t*>(value) = high ? use.high.load() : use.now.load();
    return CUDA_SUCCESS;
  });
}

// Only the high watermarks can be set, and only to zero.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return on_use(device, [&](GraphMemoryUse& use) -> CUresult {
    const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    if (!high || value == nullptr || *static_cast<cuuint64_t*>(value) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    use.high.store(use.now.load());
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return on_use(device, [](GraphMemoryUse&) { return CUDA_SUCCESS; });
}
