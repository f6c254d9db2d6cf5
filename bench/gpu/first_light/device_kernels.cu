// Kernels that only a GPU can run, compiled for sm_90a: atomics, bulk and tensor copies, WGMMA.
//
// Written from NVIDIA's PTX manual. Each kernel exercises exactly the feature that its probe tests.
//
// Thread safety: documented per kernel.
#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace {

constexpr unsigned kTileBytes = 16384;

__device__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void barrier_init(std::uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ void barrier_expect(std::uint64_t* barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

__device__ void barrier_wait(std::uint64_t* barrier) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(barrier))
      : "memory");
}

__device__ void bulk_load_to_shared(void* to, const void* from, std::uint32_t bytes, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

__device__ void wait_for_bulk_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ void order_shared_writes_before_bulk() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Copies a tile between shared and global memory by ordinary loads and stores of the whole block.
__device__ void copy_tile(uint4* to, const uint4* from) {
  for (unsigned i = threadIdx.x; i < kTileBytes / sizeof(uint4); i += blockDim.x) to[i] = from[i];
}

struct __align__(16) Pair {
  std::uint64_t low, high;
};

}  // namespace

// ---- atomics: each thread adds one, `rounds` times, to the first word ----------------------------

template <class T>
__device__ void add_many(T* word, unsigned rounds, T one) {
  for (unsigned i = 0; i < rounds; ++i) atomicAdd(word, one);
}
extern "C" __global__ void atomic_add_32(unsigned* word, unsigned rounds) { add_many(word, rounds, 1U); }
extern "C" __global__ void atomic_add_64(unsigned long long* word, unsigned rounds) { add_many(word, rounds, 1ULL); }
extern "C" __global__ void atomic_add_float(float* word, unsigned rounds) { add_many(word, rounds, 1.0F); }
extern "C" __global__ void atomic_add_double(double* word, unsigned rounds) { add_many(word, rounds, 1.0); }
extern "C" __global__ void atomic_add_halves(__half2* word, unsigned rounds) {
  add_many(word, rounds, __floats2half2_rn(1.0F, 1.0F));
}

template <class T>
__device__ void count_by_exchange(T* word, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    T seen = *reinterpret_cast<volatile T*>(word);
    for (T before = ~seen; before != seen;) {
      before = seen;
      seen = atomicCAS(word, before, before + 1);
    }
  }
}
extern "C" __global__ void atomic_cas_32(unsigned* word, unsigned rounds) { count_by_exchange(word, rounds); }
extern "C" __global__ void atomic_cas_64(unsigned long long* word, unsigned rounds) { count_by_exchange(word, rounds); }
extern "C" __global__ void atomic_cas_128(Pair* word, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    // The first guess may be wrong; the returned value corrects it.
    Pair before = {0, 0};
    for (;;) {
      const Pair after = {before.low + 1, before.high - 1};
      const Pair seen = atomicCAS(word, before, after);
      if (seen.low == before.low && seen.high == before.high) break;
      before = seen;
    }
  }
}

// ---- copies without threads: one block per 16 KiB tile -------------------------------------------

extern "C" __global__ void bulk_load(uint4* to, const uint4* from) {
  __shared__ __align__(128) unsigned char tile[kTileBytes];
  __shared__ std::uint64_t barrier;
  const std::size_t first = blockIdx.x * (kTileBytes / sizeof(uint4));
  if (threadIdx.x == 0) {
    barrier_init(&barrier);
    barrier_expect(&barrier, kTileBytes);
    bulk_load_to_shared(tile, from + first, kTileBytes, &barrier);
  }
  __syncthreads();
  barrier_wait(&barrier);
  copy_tile(to + first, reinterpret_cast<const uint4*>(tile));
}

extern "C" __global__ void bulk_store(uint4* to, const uint4* from) {
  __shared__ __align__(128) unsigned char tile[kTileBytes];
  const std::size_t first = blockIdx.x * (kTileBytes / sizeof(uint4));
  copy_tile(reinterpret_cast<uint4*>(tile), from + first);
  order_shared_writes_before_bulk();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to + first)),
        "r"(shared_address(tile)), "r"(kTileBytes)
        : "memory");
    wait_for_bulk_stores();
  }
}

// The older asynchronous copy, issued by every thread.
extern "C" __global__ void async_load(uint4* to, const uint4* from) {
  __shared__ __align__(128) unsigned char tile[kTileBytes];
  const std::size_t first = blockIdx.x * (kTileBytes / sizeof(uint4));
  uint4* const rows = reinterpret_cast<uint4*>(tile);
  for (unsigned i = threadIdx.x; i < kTileBytes / sizeof(uint4); i += blockDim.x) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(rows + i)),
                 "l"(__cvta_generic_to_global(from + first + i))
                 : "memory");
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  copy_tile(to + first, rows);
}

// Loads that may use the read-only cache.
extern "C" __global__ void read_only_load(uint4* to, const uint4* __restrict__ from) {
  const std::size_t first = blockIdx.x * (kTileBytes / sizeof(uint4));
  for (unsigned i = threadIdx.x; i < kTileBytes / sizeof(uint4); i += blockDim.x) {
    to[first + i] = __ldg(from + first + i);
  }
}

// Tiles of 64 x 64 words of a matrix that a tensor map describes.
extern "C" __global__ void tensor_load(uint4* to, const __grid_constant__ CUtensorMap map) {
  __shared__ __align__(128) unsigned char tile[kTileBytes];
  __shared__ std::uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier);
    barrier_expect(&barrier, kTileBytes);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
        "l"(&map), "r"(0), "r"(static_cast<int>(blockIdx.x) * 64), "r"(shared_address(&barrier))
        : "memory");
  }
  __syncthreads();
  barrier_wait(&barrier);
  copy_tile(to + blockIdx.x * (kTileBytes / sizeof(uint4)), reinterpret_cast<const uint4*>(tile));
}

extern "C" __global__ void tensor_store(const uint4* from, const __grid_constant__ CUtensorMap map) {
  __shared__ __align__(128) unsigned char tile[kTileBytes];
  copy_tile(reinterpret_cast<uint4*>(tile), from + blockIdx.x * (kTileBytes / sizeof(uint4)));
  order_shared_writes_before_bulk();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(0),
                 "r"(static_cast<int>(blockIdx.x) * 64), "r"(shared_address(tile))
                 : "memory");
    wait_for_bulk_stores();
  }
}

// ---- WGMMA: one warpgroup multiplies 64 x 16 by 16 x 8 halves loaded by a bulk copy ----------------
// The operands are laid out as the instruction reads them: matrices of 8 rows of 16 bytes, 128 bytes each. A has two of
// them side by side in every group of eight rows, B has two.

namespace {

constexpr std::uint32_t kLeftBytes = 64 * 16 * 2, kRightBytes = 16 * 8 * 2;

// No swizzle; 128 bytes to the next core matrix along K, 256 to the next eight rows.
__device__ std::uint64_t operand(const void* at) {
  const auto field = [](std::uint64_t bytes) { return (bytes & 0x3ffff) >> 4; };
  return field(shared_address(at)) | field(128) << 16 | field(256) << 32;
}

}  // namespace

extern "C" __global__ void multiply(float* out, const unsigned char* left, const unsigned char* right) {
  __shared__ __align__(128) unsigned char operands[kLeftBytes + kRightBytes];
  __shared__ std::uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier);
    barrier_expect(&barrier, kLeftBytes + kRightBytes);
    bulk_load_to_shared(operands, left, kLeftBytes, &barrier);
    bulk_load_to_shared(operands + kLeftBytes, right, kRightBytes, &barrier);
  }
  __syncthreads();
  barrier_wait(&barrier);
  float sum[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "{\n"
      ".reg .pred keep;\n"
      "setp.ne.b32 keep, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, keep, 1, 1, 0, 0;\n"
      "}\n"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "l"(operand(operands)), "l"(operand(operands + kLeftBytes)));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = sum[i];
}
