// The environment of a kernel's source on the software device, and the code that runs its blocks.
//
// Why separate from softcuda_kernel.hpp: sources compiled at run time by the NVRTC stand-in include only this file, and
// every standard header would cost them more compile time than the kernel itself.
//
// A source whose threads wait for each other (__syncthreads, warp functions) defines SOFTCUDA_BARRIERS first: then each
// thread of a block has its own stack (softcuda_fibers.hpp); otherwise threads are iterations of a loop. Shared memory
// is just a variable: the blocks of a device run one after another.
//
// Thread safety: threadIdx, the other built-in variables and shared memory are thread-local.
//
// Invariants: the parameter layout is CUDA's: natural alignment, in order.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../alloc/sim/sim_kernel.h"

#define __shared__ thread_local
// Attribute of the function that runs a block: versions of it for several processors.
#if !defined(SOFTCUDA_CLONES)
#define SOFTCUDA_CLONES
#endif
#define __align__(bytes) __attribute__((aligned(bytes)))

// The handle of a conditional graph node is the address of its value.
typedef unsigned long long cudaGraphConditionalHandle;
inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
  __atomic_store_n(reinterpret_cast<unsigned*>(handle), value, __ATOMIC_RELEASE);
}

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

static thread_local dim3 gridDim, blockDim, blockIdx, threadIdx;

namespace softcuda {
static thread_local void* dynamic_shared;  // sized by the launch; null if the size is 0
}  // namespace softcuda

#if defined(SOFTCUDA_BARRIERS)
#include "softcuda_fibers.hpp"
#endif

namespace softcuda {

#if !defined(SOFTCUDA_BARRIERS)
template <class Body>
inline bool for_each_thread(const sim_block& block, const Body& body) {
  // A copy stays in registers: a kernel may write to whatever `block` is in.
  const unsigned threads[] = {block.block[0], block.block[1], block.block[2]};
  for (unsigned z = 0; z < threads[2]; ++z) {
    for (unsigned y = 0; y < threads[1]; ++y) {
      for (unsigned x = 0; x < threads[0]; ++x) {
        threadIdx = {x, y, z};
        body();
      }
    }
  }
  return true;
}
#endif

template <size_t...>
struct Places {};
template <size_t count, size_t... found>
struct PlacesBelow : PlacesBelow<count - 1, count - 1, found...> {};
template <size_t... found>
struct PlacesBelow<0, found...> {
  using All = Places<found...>;
};

template <class... Parameters>
struct Layout {
  static constexpr size_t kCount = sizeof...(Parameters);
  struct Table {
    sim_parameter entries[kCount == 0 ? 1 : kCount] = {};
    uint32_t bytes = 0;
  };
  static constexpr Table make() {
    constexpr size_t sizes[] = {sizeof(Parameters)..., 0};
    constexpr size_t alignments[] = {alignof(Parameters)..., 1};
    Table table;
    size_t end = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const size_t offset = (end + alignments[i] - 1) / alignments[i] * alignments[i];
      table.entries[i] = {static_cast<uint32_t>(offset), static_cast<uint32_t>(sizes[i])};
      end = offset + sizes[i];
    }
    table.bytes = static_cast<uint32_t>(end);
    return table;
  }
  static constexpr Table kTable = make();
};

template <class T>
T load(const void* parameters, uint32_t offset) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(parameters) + offset, sizeof(T));
  return value;
}

// The parameters by value, so that they stay in registers while the kernel writes to memory.
template <auto kernel, class... Parameters>
[[gnu::always_inline]] inline int run_with(const sim_block* block, const Parameters... values) {
  gridDim = {block->grid[0], block->grid[1], block->grid[2]};
  blockDim = {block->block[0], block->block[1], block->block[2]};
  blockIdx = {block->index[0], block->index[1], block->index[2]};
  dynamic_shared = block->shared;
  return for_each_thread(*block, [&] { kernel(values...); }) ? 0 : 1;
}

template <auto kernel, class... Parameters, size_t... place>
[[gnu::always_inline]] inline int run_at(const sim_block* block, [[maybe_unused]] const void* parameters,
                                         Places<place...>) {
  [[maybe_unused]] constexpr auto& table = Layout<Parameters...>::kTable;
  return run_with<kernel, Parameters...>(block, load<Parameters>(parameters, table.entries[place].offset)...);
}

template <auto kernel, class... Parameters>
[[gnu::always_inline]] inline int run_block(const sim_block* block, const void* parameters, void (*)(Parameters...)) {
  return run_at<kernel, Parameters...>(block, parameters, typename PlacesBelow<sizeof...(Parameters)>::All());
}

template <class... Parameters>
constexpr sim_kernel describe(const char* name, int (*run)(const sim_block*, const void*), void (*)(Parameters...)) {
  using Known = Layout<Parameters...>;
  return {SIM_KERNEL_ABI_VERSION, name, run, static_cast<uint32_t>(Known::kCount), Known::kTable.entries,
          Known::kTable.bytes};
}

}  // namespace softcuda

// Makes `kernel` known to the device as `name`.
#define TESSERA_KERNEL_AS(name, kernel)                                                           \
  SOFTCUDA_CLONES static int tessera_run_##name(const sim_block* block, const void* parameters) { \
    return softcuda::run_block<&kernel>(block, parameters, &kernel);                              \
  }                                                                                               \
  extern "C" {                                                                                    \
  __attribute__((visibility("default"))) extern const sim_kernel tessera_kernel_##name;           \
  }                                                                                               \
  constexpr sim_kernel tessera_kernel_##name = softcuda::describe(#name, &tessera_run_##name, &kernel);
#define TESSERA_KERNEL(name) TESSERA_KERNEL_AS(name, name)
