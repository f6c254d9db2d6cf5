// Sets: the block is in device memory while it is filled.
#include "box_extents.hpp"
#include "copied_words.hpp"
#include "cuda_api.hpp"
#include "managed_use.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// A call without Async may wait for earlier work on the default stream.
template <class Value, class Function>
CUresult set_line(const char* call, CUstream stream, Function TrueDriver::*function, CUdeviceptr to, Value value,
                  std::size_t count) {
  const std::size_t bytes = count * sizeof(Value);
  const CUresult result = with_blocks({{to, bytes}}, stream, Waits::kMay, call, function, to, value, count);
  if (result == CUDA_SUCCESS) note_overwritten(to, bytes, stream);
  return result;
}

template <class Value, class Function>
CUresult set_line_queued(const char* call, CUstream stream, Function TrueDriver::*function, CUdeviceptr to, Value value,
                         std::size_t count, CUstream given) {
  const std::size_t bytes = count * sizeof(Value);
  const CUresult result = with_blocks({{to, bytes}}, stream, Waits::kNo, call, function, to, value, count, given);
  if (result == CUDA_SUCCESS) note_overwritten(to, bytes, stream);
  return result;
}

template <class Value, class Function, class... Given>
CUresult set_rows(const char* call, CUstream stream, Waits waits, Function TrueDriver::*function, CUdeviceptr to,
                  std::size_t pitch, Value value, std::size_t width, std::size_t height, Given... given) {
  const Box box{0, 0, 0, width * sizeof(Value), height, 1, pitch, height};
  const Extent extent{to, extent_of(to, box).bytes};
  const CUresult result =
      with_blocks({extent}, stream, waits, call, function, to, pitch, value, width, height, given...);
  if (result == CUDA_SUCCESS && is_whole(box)) {
    note_overwritten(extent.address, extent.bytes, stream);
  }
  return result;
}

}  // namespace

#define TESSERA_SET_HOOKS(bits, Value)                                                                                 \
  TESSERA_HOOK_PTDS(cuMemsetD##bits##_v2, (CUdeviceptr to, Value value, std::size_t count),                            \
                    { return set_line("cuMemsetD" #bits, stream, True, to, value, count); })                           \
  TESSERA_HOOK_PTSZ(cuMemsetD##bits##Async, (CUdeviceptr to, Value value, std::size_t count, CUstream given),          \
                    { return set_line_queued("cuMemsetD" #bits "Async", stream, True, to, value, count, given); })     \
  TESSERA_HOOK_PTDS(                                                                                                   \
      cuMemsetD2D##bits##_v2, (CUdeviceptr to, std::size_t pitch, Value value, std::size_t width, std::size_t height), \
      { return set_rows("cuMemsetD2D" #bits, stream, Waits::kMay, True, to, pitch, value, width, height); })           \
  TESSERA_HOOK_PTSZ(                                                                                                   \
      cuMemsetD2D##bits##Async,                                                                                        \
      (CUdeviceptr to, std::size_t pitch, Value value, std::size_t width, std::size_t height, CUstream given), {       \
        return set_rows("cuMemsetD2D" #bits "Async", stream, Waits::kNo, True, to, pitch, value, width, height,        \
                        given);                                                                                        \
      })

TESSERA_SET_HOOKS(8, unsigned char)
TESSERA_SET_HOOKS(16, unsigned short)
TESSERA_SET_HOOKS(32, unsigned int)
