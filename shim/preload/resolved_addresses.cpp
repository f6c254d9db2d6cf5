#include "resolved_addresses.hpp"

#include "graph_words.hpp"
#include "outcome.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

ResolvedAddresses::ResolvedAddresses(std::span<const std::uint64_t> addresses, const char* call) {
  const Entry entry;
  if (addresses.empty() || running() == nullptr) return;
  const InPrimary in_primary;
  const tessera_result result = tessera_placeholders_begin(running(), addresses.data(), addresses.size());
  begun_ = result == TESSERA_OK;
  status_ = cuda_result_said(result, call);
}

ResolvedAddresses::~ResolvedAddresses() {
  const Entry entry;
  if (!begun_ || running() == nullptr) return;
  const InPrimary in_primary;
  tessera_placeholders_end(running());
}

CUcontext context_of_node(CUcontext given, std::span<const std::uint64_t> addresses) {
  if (given != nullptr || addresses.empty()) return given;
  CUcontext current = nullptr;
  return call_true(&TrueDriver::cuCtxGetCurrent, &current) == CUDA_SUCCESS ? current : nullptr;
}

ParamsInContext::ParamsInContext(CUgraphNodeParams* params) : params_(params) {
  const bool copies = params != nullptr && params->type == CU_GRAPH_NODE_TYPE_MEMCPY;
  const bool sets = params != nullptr && params->type == CU_GRAPH_NODE_TYPE_MEMSET;
  if (!copies && !sets) return;
  const CUcontext given = copies ? params->memcpy.copyCtx : params->memset.ctx;
  const CUcontext context = context_of_node(given, resolved_in(params));
  if (context == given) return;
  copy_ = *params;
  (copies ? copy_.memcpy.copyCtx : copy_.memset.ctx) = context;
  params_ = &copy_;
}

std::vector<std::uint64_t> resolved_in(const CUDA_MEMCPY3D_v2* params) {
  return params != nullptr ? words_of(*params).certain : std::vector<std::uint64_t>();
}

std::vector<std::uint64_t> resolved_in(const CUDA_MEMSET_NODE_PARAMS_v1* params) {
  return params != nullptr ? words_of(*params).certain : std::vector<std::uint64_t>();
}

std::vector<std::uint64_t> resolved_in(const CUgraphNodeParams* params) {
  if (params == nullptr) return {};
  switch (static_cast<int>(params->type)) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case TESSERA_NODE_TYPE_MEMCPY_BATCH:
    case TESSERA_NODE_TYPE_FABRIC_CPY_BATCH: return words_of(*params).certain;
    default: return {};
  }
}

}  // namespace tessera::preload
