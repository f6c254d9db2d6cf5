// A graph node that is a batch of linear copies.
//
// The copies of a batch are unordered among themselves, so running them one after another is valid.
//
// Thread safety: values.
#pragma once

#include <memory>
#include <vector>

#include "cuda_api.hpp"
#include "driver/driver.hpp"

namespace tessera::softcuda {

class Machine;

struct BatchWork {
  struct Copies {
    std::vector<CUdeviceptr> to, from;
    std::vector<std::size_t> sizes;
    std::vector<CUmemcpyAttributes> attributes;
    std::vector<std::size_t> attribute_indices;
  };
  std::shared_ptr<Copies> copies;  // shared by copies of the node, never changed
};

// Errors: CUDA_ERROR_INVALID_VALUE as for cuMemcpyBatchAsync.
CUresult make_batch_work(const CUDA_MEMCPY_BATCH_NODE_PARAMS& params, BatchWork& work);
// The lists point into `work`.
CUDA_MEMCPY_BATCH_NODE_PARAMS params_of(const BatchWork& work);
CUresult run_batch(Machine& machine, const BatchWork& work, StreamId stream);

}  // namespace tessera::softcuda
