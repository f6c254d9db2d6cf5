#include "batch_work.hpp"

#include "call.hpp"
#include "transfer.hpp"

namespace tessera::softcuda {

CUresult make_batch_work(const CUDA_MEMCPY_BATCH_NODE_PARAMS& params, BatchWork& work) {
  const bool lists = params.dsts != nullptr && params.srcs != nullptr && params.sizes != nullptr;
  const bool attributes = params.attrs != nullptr && params.attrsIdxs != nullptr && params.numAttrs != 0;
  if (!lists || !attributes || params.count == 0 || params.numAttrs > params.count || params.attrsIdxs[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto copies = std::make_shared<BatchWork::Copies>();
  copies->to.assign(params.dsts, params.dsts + params.count);
  copies->from.assign(params.srcs, params.srcs + params.count);
  copies->sizes.assign(params.sizes, params.sizes + params.count);
  copies->attributes.assign(params.attrs, params.attrs + params.numAttrs);
  copies->attribute_indices.assign(params.attrsIdxs, params.attrsIdxs + params.numAttrs);
  work.copies = std::move(copies);
  return CUDA_SUCCESS;
}

CUDA_MEMCPY_BATCH_NODE_PARAMS params_of(const BatchWork& work) {
  BatchWork::Copies& copies = *work.copies;
  CUDA_MEMCPY_BATCH_NODE_PARAMS params{};
  params.count = copies.sizes.size();
  params.dsts = copies.to.data();
  params.srcs = copies.from.data();
  params.sizes = copies.sizes.data();
  params.attrs = copies.attributes.data();
  params.attrsIdxs = copies.attribute_indices.data();
  params.numAttrs = copies.attributes.size();
  return params;
}

CUresult run_batch(Machine& machine, const BatchWork& work, StreamId stream) {
  const BatchWork::Copies& copies = *work.copies;
  for (std::size_t i = 0; i < copies.sizes.size(); ++i) {
    SOFTCUDA_TRY(copy_bytes(machine, {copies.to[i], End::kAny}, {copies.from[i], End::kAny}, copies.sizes[i], stream));
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::softcuda
