// The headers in device/ and those that they include, embedded as bytes: no path has to be found if the library is
// moved.
#define FILE_BYTES(name, path) \
  .globl name, name##_end; \
  .hidden name, name##_end; \
  name: .incbin path; \
  name##_end: .byte 0;

  .section .rodata
FILE_BYTES(file_softnvrtc, "shim/softnvrtc/device/softnvrtc.hpp")
FILE_BYTES(file_numbers, "shim/softnvrtc/device/numbers.hpp")
FILE_BYTES(file_keywords, "shim/softnvrtc/device/keywords.hpp")
FILE_BYTES(file_bits, "shim/softnvrtc/device/bits.hpp")
FILE_BYTES(file_memory, "shim/softnvrtc/device/memory.hpp")
FILE_BYTES(file_toolkit, "shim/softnvrtc/device/toolkit.h")
FILE_BYTES(file_math, "shim/softnvrtc/device/math.h")
FILE_BYTES(file_vectors, "shim/softnvrtc/device/vectors.hpp")
FILE_BYTES(file_warps, "shim/softnvrtc/device/warps.hpp")
FILE_BYTES(file_cuda_fp16, "shim/softnvrtc/device/cuda_fp16.h")
FILE_BYTES(file_cuda_bf16, "shim/softnvrtc/device/cuda_bf16.h")
FILE_BYTES(file_atomic, "shim/softnvrtc/device/atomic.h")
FILE_BYTES(file_integers, "shim/softnvrtc/device/integers.h")
FILE_BYTES(file_softcuda_device, "shim/softcuda/softcuda_device.hpp")
FILE_BYTES(file_softcuda_fibers, "shim/softcuda/softcuda_fibers.hpp")
FILE_BYTES(file_sim_kernel, "alloc/sim/sim_kernel.h")
  .section .note.GNU-stack, "", %progbits
