// One kernel source for both devices: CUDA C for nvcc, host code for the software device.
//
// A kernel is an ordinary extern "C" __global__ function; TESSERA_KERNEL(name) after it makes it
// known. Under nvcc that is nothing. Under the host compiler it makes the descriptor that the
// software device looks for, with the parameter layout of CUDA (natural alignment, in order) and a
// runner that calls the function once for each thread of a block, x fastest.
//
// Speed: a kernel is compiled for AVX2 and for any machine, and the right one is chosen when it is
// loaded. Give each thread a loop over contiguous elements, and it is vectorised. The arithmetic is
// the same in both: nothing is fused or reordered.
//
// Not here yet: __shared__ and __syncthreads.
//
// Thread safety: threadIdx and its like are thread-local.
#pragma once

#if defined(__CUDACC__)

#define TESSERA_KERNEL(name)

#else

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "../../alloc/driver/sim_kernel.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define __global__ __attribute__((target_clones("avx2", "default")))
#else
#define __global__
#endif
#define __device__ inline
#define __restrict__ __restrict

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

static thread_local dim3 gridDim, blockDim, blockIdx, threadIdx;

namespace softcuda {

template <class... Parameters>
struct Layout {
  static constexpr std::size_t kCount = sizeof...(Parameters);
  struct Table {
    sim_parameter entries[kCount == 0 ? 1 : kCount] = {};
    std::uint32_t bytes = 0;
  };
  static constexpr Table make() {
    constexpr std::size_t sizes[] = {sizeof(Parameters)..., 0};
    constexpr std::size_t alignments[] = {alignof(Parameters)..., 1};
    Table table;
    std::size_t end = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t offset = (end + alignments[i] - 1) / alignments[i] * alignments[i];
      table.entries[i] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(sizes[i])};
      end = offset + sizes[i];
    }
    table.bytes = static_cast<std::uint32_t>(end);
    return table;
  }
  static constexpr Table kTable = make();
};

template <class T>
T load(const void* parameters, std::uint32_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(parameters) + offset, sizeof(T));
  return value;
}

template <auto kernel, class... Parameters, std::size_t... place>
void run_block(const sim_block* block, [[maybe_unused]] const void* parameters,
               std::index_sequence<place...>) {
  [[maybe_unused]] constexpr auto& table = Layout<Parameters...>::kTable;
  gridDim = {block->grid[0], block->grid[1], block->grid[2]};
  blockDim = {block->block[0], block->block[1], block->block[2]};
  blockIdx = {block->index[0], block->index[1], block->index[2]};
  for (unsigned z = 0; z < block->block[2]; ++z) {
    for (unsigned y = 0; y < block->block[1]; ++y) {
      for (unsigned x = 0; x < block->block[0]; ++x) {
        threadIdx = {x, y, z};
        kernel(load<Parameters>(parameters, table.entries[place].offset)...);
      }
    }
  }
}

template <auto kernel, class... Parameters>
constexpr sim_kernel describe(const char* name, void (*)(Parameters...)) {
  using Known = Layout<Parameters...>;
  return {SIM_KERNEL_ABI_VERSION, name,
          [](const sim_block* block, const void* parameters) {
            run_block<kernel, Parameters...>(block, parameters,
                                             std::index_sequence_for<Parameters...>());
          },
          static_cast<std::uint32_t>(Known::kCount), Known::kTable.entries, Known::kTable.bytes};
}

}  // namespace softcuda

#define TESSERA_KERNEL(name)                                                                       \
  extern "C" {                                                                                     \
  __attribute__((visibility("default"))) extern const sim_kernel tessera_kernel_##name;            \
  }                                                                                                \
  constexpr sim_kernel tessera_kernel_##name = softcuda::describe<&name>(#name, &name);

#endif
