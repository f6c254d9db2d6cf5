// The memory word that an operation of cuStreamBatchMemOp, or of a batch-memory-operation graph node, accesses.
//
// Thread safety: pure functions.
#pragma once

#include <cstring>

#include "cuda_api.hpp"

namespace tessera::preload {

// 0 for an operation without a word, such as a barrier.
inline CUdeviceptr word_of(const CUstreamBatchMemOpParams& operation) {
  int kind = 0;  // may be a value that this cuda.h does not know
  std::memcpy(&kind, &operation.operation, sizeof(kind));
  switch (kind) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: return operation.waitValue.address;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return operation.writeValue.address;
    case TESSERA_MEM_OP_ATOMIC_REDUCTION: {
      TesseraAtomicReduction reduction;
      std::memcpy(&reduction, &operation, sizeof(reduction));
      return reduction.address;
    }
    default: return 0;
  }
}

}  // namespace tessera::preload
