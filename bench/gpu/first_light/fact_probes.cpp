// What the driver reports about itself and the device, and which host memory it provides.
#include "gpu.hpp"

namespace first_light {
namespace {

Answer about(const Settings&) {
  Gpu gpu;
  Answer answer;
  char name[128] = "";
  int version = 0;
  std::size_t free_bytes = 0, total = 0;
  MUST(cuDeviceGetName(name, sizeof(name), gpu.device()));
  MUST(cuDriverGetVersion(&version));
  MUST(cuMemGetInfo(&free_bytes, &total));
  answer.results = {{"name", name}, {"cuda", version}, {"free", free_bytes}, {"total", total}};
  const std::pair<const char*, CUdevice_attribute> kAttributes[] = {
      {"virtual_memory_management", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
      {"posix_fd_handles", CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
      {"rdma_with_vmm", CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED},
      {"memory_pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
      {"host_numa_id", CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID},
      {"host_numa_vmm", CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
      {"host_vmm", CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
      {"concurrent_managed", CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS},
      {"async_engines", CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT},
      {"pageable_memory", CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS},
      {"l2_bytes", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
      {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {"capability_major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {"capability_minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {"only_partial_host_native_atomic", CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED},
      {"host_native_atomics", CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED}};
  Json& attributes = answer.results["attributes"];
  for (const auto& [text, which] : kAttributes) {
    int value = 0;
    const CUresult asked = cuDeviceGetAttribute(&value, which, gpu.device());
    attributes[text] = asked == CUDA_SUCCESS ? Json(value) : outcome(asked);
  }
  return answer;
}

Answer granularity(const Settings&) {
  Gpu gpu;
  Answer answer;
  for (const Place place : {Place::kDevice, Place::kHost}) {
    const CUmemAllocationProp wanted = properties(gpu, place);
    for (const bool recommended : {false, true}) {
      std::size_t bytes = 0;
      const CUresult asked = cuMemGetAllocationGranularity(
          &bytes, &wanted, recommended ? CU_MEM_ALLOC_GRANULARITY_RECOMMENDED : CU_MEM_ALLOC_GRANULARITY_MINIMUM);
      answer.results[text(place)][recommended ? "recommended" : "minimum"] =
          asked == CUDA_SUCCESS ? Json(bytes) : outcome(asked);
    }
  }
  return answer;
}

// Create, map, set access, copy there and back: the only conclusive proof.
Json try_location(const Gpu& gpu, CUmemLocationType type, int id, CUmemAllocationHandleType shared) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = type;
  wanted.location.id = id;
  wanted.requestedHandleTypes = shared;
  CUmemGenericAllocationHandle handle = 0;
  const CUresult created = cuMemCreate(&handle, 2 * kMiB, &wanted, 0);
  if (created != CUDA_SUCCESS) return {{"works", false}, {"call", "cuMemCreate"}, {"code", created}};
  Json found = {{"works", true}};
  {
    Window window(gpu, 2 * kMiB);
    CUresult result = cuMemMap(window.at(), 2 * kMiB, 0, handle, 0);
    if (result == CUDA_SUCCESS) {
      result = window.open(0, 2 * kMiB);
      if (result != CUDA_SUCCESS) found = {{"works", false}, {"call", "cuMemSetAccess"}};
      std::uint32_t out = 42, back = 0;
      if (result == CUDA_SUCCESS) result = cuMemcpyHtoD(window.at(), &out, sizeof(out));
      if (result == CUDA_SUCCESS) result = cuMemcpyDtoH(&back, window.at(), sizeof(back));
      if (result == CUDA_SUCCESS && back != out) found = {{"works", false}, {"call", "compare"}};
      found["cpu_access_code"] = window.open_for_cpu(0, 2 * kMiB);
      (void)cuMemUnmap(window.at(), 2 * kMiB);
    }
    found["code"] = result;
    if (result != CUDA_SUCCESS) found["works"] = false;
  }
  (void)cuMemRelease(handle);
  return found;
}

Answer host_frames(const Settings&) {
  Gpu gpu;
  const int node = properties(gpu, Place::kHost).location.id;
  Json results = {{"node", node}};
  const auto none = CU_MEM_HANDLE_TYPE_NONE;
  results["host_numa"] = try_location(gpu, CU_MEM_LOCATION_TYPE_HOST_NUMA, node, none);
  results["host_numa_as_file"] =
      try_location(gpu, CU_MEM_LOCATION_TYPE_HOST_NUMA, node, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  results["host"] = try_location(gpu, CU_MEM_LOCATION_TYPE_HOST, 0, none);
  results["host_numa_current"] = try_location(gpu, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0, none);
  return yes_if(results["host_numa"]["works"], results);
}

Answer host_frames_in_memory_info(const Settings&) {
  Gpu gpu;
  std::size_t before = 0, after = 0, total = 0;
  MUST(cuMemGetInfo(&before, &total));
  Frame frame(gpu, Place::kHost, 64 * kMiB);
  MUST(cuMemGetInfo(&after, &total));
  return yes_if(before - after >= frame.bytes(), {{"free_before", before}, {"free_after", after}});
}

Answer parameter_layout(const Settings&) {
  Gpu gpu;
  const CUfunction kernel = gpu.plain("fill_words");
  Json offsets = Json::array();
  CUresult result = CUDA_SUCCESS;
  for (std::size_t i = 0; result == CUDA_SUCCESS; ++i) {
    std::size_t offset = 0, bytes = 0;
    result = cuFuncGetParamInfo(kernel, i, &offset, &bytes);
    if (result == CUDA_SUCCESS) offsets.push_back({offset, bytes});
  }
  const Json wanted = {{0, 8}, {8, 8}, {16, 4}};
  return yes_if(offsets == wanted, {{"layout", offsets}, {"end", outcome(result)}});
}

}  // namespace

std::vector<Probe> fact_probes() {
  return {{"about", "what are the driver and the device", about},
          {"granularity", "what is the granularity of memory", granularity},
          {"host_frames", "can host memory be mapped at device addresses", host_frames},
          {"host_frames_in_memory_info", "does cuMemGetInfo count host frames as device memory",
           host_frames_in_memory_info},
          {"parameter_layout", "does cuFuncGetParamInfo give the layout of parameters", parameter_layout}};
}

}  // namespace first_light
