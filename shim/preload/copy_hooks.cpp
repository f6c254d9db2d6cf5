// Linear copies: both managed ends are in device memory while the copy needs them.
//
// A copy from or to pageable host memory waits for its work even if its name ends in Async. Addresses in the copied
// bytes are recorded (copied_words.hpp).
#include "capture.hpp"
#include "copied_words.hpp"
#include "cuda_api.hpp"
#include "managed_use.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// Memory unknown to the driver is pageable.
Waits waits_for(const void* host) {
  unsigned type = 0;
  const CUresult known = call_true(&TrueDriver::cuPointerGetAttribute, static_cast<void*>(&type),
                                   CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(host));
  return known == CUDA_SUCCESS ? Waits::kNo : Waits::kMay;
}

Waits waits_for(CUdeviceptr end) { return managed(end) ? Waits::kNo : waits_for(reinterpret_cast<const void*>(end)); }

// Between any two locations; `args` are the call's arguments after the first three.
template <class Function, class... Args>
CUresult copy(const char* call, Waits waits, Source source, Function TrueDriver::*function, CUstream stream,
              CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Args... args) {
  return with_words(to, from, bytes, source, stream, [&] {
    return with_blocks({{to, bytes}, {from, bytes}}, stream, waits, call, function, to, from, bytes, args...);
  });
}

template <class Function, class... Args>
CUresult copy_async(const char* call, Function TrueDriver::*function, CUstream stream, CUdeviceptr to, CUdeviceptr from,
                    std::size_t bytes, Args... args) {
  const bool any = managed(to) || managed(from);
  const bool waits = any && (waits_for(to) == Waits::kMay || waits_for(from) == Waits::kMay);
  return copy(call, waits ? Waits::kMay : Waits::kNo, Source::kAny, function, stream, to, from, bytes, args...);
}

}  // namespace

TESSERA_HOOK_PTDS(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
                  { return copy("cuMemcpy", Waits::kMay, Source::kAny, True, stream, to, from, bytes); })

TESSERA_HOOK_PTSZ(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream given),
                  { return copy_async("cuMemcpyAsync", True, stream, to, from, bytes, given); })

TESSERA_HOOK_PTSZ(cuMemcpyWithAttributesAsync,
                  (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUmemcpyAttributes* attributes, CUstream given),
                  {
                    return copy_async("cuMemcpyWithAttributesAsync", True, stream, to, from, bytes, attributes, given);
                  })

TESSERA_HOOK_PTDS(cuMemcpyPeer,
                  (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes), {
                    return with_words(to, from, bytes, Source::kDevice, stream, [&] {
                      return with_blocks({{to, bytes}, {from, bytes}}, stream, Waits::kMay, "cuMemcpyPeer", True, to,
                                         to_context, from, from_context, bytes);
                    });
                  })

TESSERA_HOOK_PTSZ(cuMemcpyPeerAsync,
                  (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::size_t bytes,
                   CUstream given),
                  {
                    return with_words(to, from, bytes, Source::kDevice, stream, [&] {
                      return with_blocks({{to, bytes}, {from, bytes}}, stream, Waits::kNo, "cuMemcpyPeerAsync", True,
                                         to, to_context, from, from_context, bytes, given);
                    });
                  })

TESSERA_HOOK_PTDS(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, std::size_t bytes), {
  return with_words(to, from, bytes, stream, [&] {
    return with_blocks({{to, bytes}}, stream, Waits::kMay, "cuMemcpyHtoD", True, to, from, bytes);
  });
})

TESSERA_HOOK_PTSZ(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, std::size_t bytes, CUstream given), {
  const Waits waits = managed(to) ? waits_for(from) : Waits::kNo;
  return with_words(to, from, bytes, stream, [&] {
    return with_blocks({{to, bytes}}, stream, waits, "cuMemcpyHtoDAsync", True, to, from, bytes, given);
  });
})

TESSERA_HOOK_PTDS(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, std::size_t bytes), {
  return with_blocks({{from, bytes}}, stream, Waits::kAll, "cuMemcpyDtoH", True, to, from, bytes);
})

TESSERA_HOOK_PTSZ(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, std::size_t bytes, CUstream given), {
  if (!managed(from)) return call_true(True, to, from, bytes, given);
  const CUresult result =
      with_blocks({{from, bytes}}, stream, waits_for(to), "cuMemcpyDtoHAsync", True, to, from, bytes, given);
  if (result == CUDA_SUCCESS && !capturing(stream)) {
    note_copy_out(reinterpret_cast<CUdeviceptr>(to), from, bytes);
  }
  return result;
})

TESSERA_HOOK_PTDS(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
                  { return copy("cuMemcpyDtoD", Waits::kMay, Source::kDevice, True, stream, to, from, bytes); })

TESSERA_HOOK_PTSZ(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream given), {
  return copy("cuMemcpyDtoDAsync", Waits::kNo, Source::kDevice, True, stream, to, from, bytes, given);
})

TESSERA_HOOK_PTDS(cuMemcpyDtoA_v2, (CUarray to, std::size_t offset, CUdeviceptr from, std::size_t bytes), {
  return with_blocks({{from, bytes}}, stream, Waits::kMay, "cuMemcpyDtoA", True, to, offset, from, bytes);
})

TESSERA_HOOK_PTDS(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, std::size_t offset, std::size_t bytes), {
  const CUresult result =
      with_blocks({{to, bytes}}, stream, Waits::kMay, "cuMemcpyAtoD", True, to, from, offset, bytes);
  if (result == CUDA_SUCCESS) note_overwritten(to, bytes, stream);
  return result;
})
