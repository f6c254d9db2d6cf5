#include "device_headers.hpp"

#include <array>

#define DEVICE_FILE(name) extern "C" const char file_##name[], file_##name##_end[];
DEVICE_FILE(softnvrtc)
DEVICE_FILE(numbers)
DEVICE_FILE(keywords)
DEVICE_FILE(bits)
DEVICE_FILE(memory)
DEVICE_FILE(toolkit)
DEVICE_FILE(math)
DEVICE_FILE(vectors)
DEVICE_FILE(warps)
DEVICE_FILE(cuda_fp16)
DEVICE_FILE(cuda_bf16)
DEVICE_FILE(atomic)
DEVICE_FILE(integers)
DEVICE_FILE(softcuda_device)
DEVICE_FILE(softcuda_fibers)
DEVICE_FILE(sim_kernel)
#undef DEVICE_FILE

namespace softnvrtc {
namespace {

DeviceHeader header(const char* path, const char* begin, const char* end) {
  return {path, {begin, static_cast<std::size_t>(end - begin)}};
}

}  // namespace

std::span<const DeviceHeader> device_headers() {
  static const std::array all = {
      header(kFirstHeader, file_softnvrtc, file_softnvrtc_end),
      header("shim/softnvrtc/device/numbers.hpp", file_numbers, file_numbers_end),
      header("shim/softnvrtc/device/keywords.hpp", file_keywords, file_keywords_end),
      header("shim/softnvrtc/device/bits.hpp", file_bits, file_bits_end),
      header("shim/softnvrtc/device/memory.hpp", file_memory, file_memory_end),
      header("shim/softnvrtc/device/math.h", file_math, file_math_end),
      header("shim/softnvrtc/device/cuda_runtime.h", file_toolkit, file_toolkit_end),
      header("shim/softnvrtc/device/cuda_runtime_api.h", file_toolkit, file_toolkit_end),
      header("shim/softnvrtc/device/vector_types.h", file_toolkit, file_toolkit_end),
      header("shim/softnvrtc/device/vector_functions.h", file_toolkit, file_toolkit_end),
      header("shim/softnvrtc/device/crt/host_defines.h", file_toolkit, file_toolkit_end),
      header("shim/softnvrtc/device/vectors.hpp", file_vectors, file_vectors_end),
      header("shim/softnvrtc/device/warps.hpp", file_warps, file_warps_end),
      header("shim/softnvrtc/device/cuda_fp16.h", file_cuda_fp16, file_cuda_fp16_end),
      header("shim/softnvrtc/device/cuda_bf16.h", file_cuda_bf16, file_cuda_bf16_end),
      header("shim/softnvrtc/device/cuda/atomic", file_atomic, file_atomic_end),
      header("shim/softnvrtc/device/cuda/std/atomic", file_atomic, file_atomic_end),
      header("shim/softnvrtc/device/cuda/std/cstddef", file_integers, file_integers_end),
      header("shim/softnvrtc/device/cuda/std/cstdint", file_integers, file_integers_end),
      header("shim/softcuda/softcuda_device.hpp", file_softcuda_device, file_softcuda_device_end),
      header("shim/softcuda/softcuda_fibers.hpp", file_softcuda_fibers, file_softcuda_fibers_end),
      header("alloc/sim/sim_kernel.h", file_sim_kernel, file_sim_kernel_end)};
  return all;
}

}  // namespace softnvrtc
