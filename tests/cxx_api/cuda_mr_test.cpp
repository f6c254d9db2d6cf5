// A C++17 program that gives Tessera to CCCL: the resource has the concepts and properties of the version of CCCL that
// it is compiled with, and serves what takes one.
#include "tessera/cuda_mr.hpp"

#include <cstdint>
#include <cstdio>

namespace {

#ifdef EXPECTED_CCCL
static_assert(CCCL_VERSION == EXPECTED_CCCL);
#endif

using Resource = tessera::mr::device_resource;

#if CCCL_VERSION >= 3001000
static_assert(cuda::mr::resource<Resource>);
static_assert(cuda::mr::synchronous_resource<Resource>);
static_assert(cuda::mr::resource_with<Resource, cuda::mr::device_accessible>);
static_assert(!cuda::mr::resource_with<Resource, cuda::mr::host_accessible>);
using Reference = cuda::mr::resource_ref<cuda::mr::device_accessible>;
#else
static_assert(cuda::mr::resource<Resource>);
static_assert(cuda::mr::async_resource<Resource>);
static_assert(cuda::mr::async_resource_with<Resource, cuda::mr::device_accessible>);
static_assert(!cuda::mr::resource_with<Resource, cuda::mr::host_accessible>);
using Reference = cuda::mr::async_resource_ref<cuda::mr::device_accessible>;
#endif

// As a library does that takes any resource.
int serve(tessera::heap& heap, Reference resource) {
  const cuda::stream_ref stream(static_cast<cudaStream_t>(nullptr));
#if CCCL_VERSION >= 3001000
  void* ordered = resource.allocate(stream, 3000, 256);
  void* at_once = resource.allocate_sync(5000, 256);
#else
  void* ordered = resource.allocate_async(3000, 256, stream);
  void* at_once = resource.allocate(5000, 256);
#endif
  if (ordered == nullptr || at_once == nullptr || heap.stats().live_bytes != 8000) return 1;
#if CCCL_VERSION >= 3001000
  resource.deallocate(stream, ordered, 3000, 256);
  resource.deallocate_sync(at_once, 5000, 256);
#else
  resource.deallocate_async(ordered, 3000, 256, stream);
  resource.deallocate(at_once, 5000, 256);
#endif
  return heap.stats().live_blocks == 0 ? 0 : 2;
}

}  // namespace

int main() {
  tessera::heap heap(tessera::options().set("device-memory", "8MiB").set("host-memory", "16MiB"));
  Resource resource(heap);
  if (const int failed = serve(heap, resource)) return failed;
  if (!(resource == Resource(heap)) || resource != Resource(heap)) return 3;
  try {
    (void)resource.allocate_sync(std::size_t{1} << 40);
    return 4;
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
