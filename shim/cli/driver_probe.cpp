#include "driver_probe.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/core.h>

namespace {

constexpr const char* kDriver = "libcuda.so.1";

// A typed entry point; null if this driver lacks it.
template <class Function>
Function* entry(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}
#define TESSERA_ENTRY(library, function) entry<decltype(function)>(library, TESSERA_NAME(function))
#define TESSERA_NAME(function) TESSERA_TEXT(function)
#define TESSERA_TEXT(function) #function

struct Driver {
  explicit Driver(void* library)
      : init(TESSERA_ENTRY(library, cuInit)),
        version(TESSERA_ENTRY(library, cuDriverGetVersion)),
        error_name(TESSERA_ENTRY(library, cuGetErrorName)),
        device_count(TESSERA_ENTRY(library, cuDeviceGetCount)),
        device_name(TESSERA_ENTRY(library, cuDeviceGetName)),
        attribute(TESSERA_ENTRY(library, cuDeviceGetAttribute)),
        retain(TESSERA_ENTRY(library, cuDevicePrimaryCtxRetain)),
        release(TESSERA_ENTRY(library, cuDevicePrimaryCtxRelease)),
        set_current(TESSERA_ENTRY(library, cuCtxSetCurrent)),
        memory_info(TESSERA_ENTRY(library, cuMemGetInfo)),
        create(TESSERA_ENTRY(library, cuMemCreate)),
        destroy(TESSERA_ENTRY(library, cuMemRelease)),
        reserve(TESSERA_ENTRY(library, cuMemAddressReserve)),
        unreserve(TESSERA_ENTRY(library, cuMemAddressFree)),
        map(TESSERA_ENTRY(library, cuMemMap)),
        unmap(TESSERA_ENTRY(library, cuMemUnmap)),
        set_access(TESSERA_ENTRY(library, cuMemSetAccess)),
        copy_in(TESSERA_ENTRY(library, cuMemcpyHtoD)),
        copy_out(TESSERA_ENTRY(library, cuMemcpyDtoH)),
        host_alloc(TESSERA_ENTRY(library, cuMemHostAlloc)),
        host_free(TESSERA_ENTRY(library, cuMemFreeHost)) {}

  bool complete() const {
    return init && version && error_name && device_count && device_name && attribute && retain && release &&
           set_current && memory_info && host_alloc && host_free;
  }
  bool maps_memory() const {
    return create && destroy && reserve && unreserve && map && unmap && set_access && copy_in && copy_out;
  }

  decltype(cuInit)* init;
  decltype(cuDriverGetVersion)* version;
  decltype(cuGetErrorName)* error_name;
  decltype(cuDeviceGetCount)* device_count;
  decltype(cuDeviceGetName)* device_name;
  decltype(cuDeviceGetAttribute)* attribute;
  decltype(cuDevicePrimaryCtxRetain)* retain;
  decltype(cuDevicePrimaryCtxRelease)* release;
  decltype(cuCtxSetCurrent)* set_current;
  decltype(cuMemGetInfo)* memory_info;
  decltype(cuMemCreate)* create;
  decltype(cuMemRelease)* destroy;
  decltype(cuMemAddressReserve)* reserve;
  decltype(cuMemAddressFree)* unreserve;
  decltype(cuMemMap)* map;
  decltype(cuMemUnmap)* unmap;
  decltype(cuMemSetAccess)* set_access;
  decltype(cuMemcpyHtoD)* copy_in;
  decltype(cuMemcpyDtoH)* copy_out;
  decltype(cuMemHostAlloc)* host_alloc;
  decltype(cuMemFreeHost)* host_free;
};

std::string path_of(void* library) {
  struct link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return kDriver;
  return map->l_name;
}

std::string problem_of(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  if (driver.error_name(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  return name;
}

constexpr std::size_t kFrame = std::size_t{2} << 20;

// Writes and reads through `address`, which is backed by host memory.
CUresult use_host_frame(const Driver& driver, CUdevice device, CUdeviceptr address) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUresult result = driver.set_access(address, kFrame, &access, 1);
  const std::uint64_t sent = 0x5445535345524121;
  std::uint64_t back = 0;
  if (result == CUDA_SUCCESS) result = driver.copy_in(address, &sent, sizeof(sent));
  if (result == CUDA_SUCCESS) result = driver.copy_out(&back, address, sizeof(back));
  return result == CUDA_SUCCESS && back != sent ? CUDA_ERROR_UNKNOWN : result;
}

// Tests by trying, because drivers before 12.9 do not support the attribute although the memory works. Returns the
// first error; everything is undone.
CUresult try_host_frame(const Driver& driver, CUdevice device) {
  if (!driver.maps_memory()) return CUDA_ERROR_NOT_SUPPORTED;
  int node = -1;
  if (driver.attribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device) != CUDA_SUCCESS) node = -1;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  properties.location.id = std::max(node, 0);
  CUmemGenericAllocationHandle handle{};
  CUdeviceptr address = 0;
  CUresult result = driver.create(&handle, kFrame, &properties, 0);
  if (result != CUDA_SUCCESS) return result;
  const auto keep_first = [&](CUresult next) { result = result == CUDA_SUCCESS ? next : result; };
  result = driver.reserve(&address, kFrame, kFrame, 0, 0);
  if (result == CUDA_SUCCESS) {
    result = driver.map(address, kFrame, 0, handle, 0);
    if (result == CUDA_SUCCESS) {
      result = use_host_frame(driver, device, address);
      keep_first(driver.unmap(address, kFrame));
    }
    keep_first(driver.unreserve(address, kFrame));
  }
  keep_first(driver.destroy(handle));
  return result;
}

bool pinning_works(const Driver& driver) {
  void* memory = nullptr;
  if (driver.host_alloc(&memory, std::size_t{32} << 20, 0) != CUDA_SUCCESS) return false;
  return driver.host_free(memory) == CUDA_SUCCESS;
}

std::string ask_device(const Driver& driver, int device, DeviceFacts& facts) {
  char name[128] = "";
  if (driver.device_name(name, sizeof(name), device) == CUDA_SUCCESS) facts.name = name;
  int yes = 0;
  facts.virtual_memory =
      driver.attribute(&yes, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) == CUDA_SUCCESS &&
      yes != 0;
  CUcontext context = nullptr;
  const CUresult retained = driver.retain(&context, device);
  if (retained != CUDA_SUCCESS) return problem_of(driver, retained);
  std::string problem;
  if (driver.set_current(context) == CUDA_SUCCESS) {
    std::size_t free_bytes = 0, total_bytes = 0;
    const CUresult asked = driver.memory_info(&free_bytes, &total_bytes);
    if (asked != CUDA_SUCCESS) problem = problem_of(driver, asked);
    facts.free_bytes = free_bytes;
    facts.total_bytes = total_bytes;
    const CUresult tried = try_host_frame(driver, device);
    facts.host_frames = tried == CUDA_SUCCESS;
    if (!facts.host_frames) facts.host_frames_problem = problem_of(driver, tried);
    facts.pins_host_memory = pinning_works(driver);
  }
  if (driver.release(device) != CUDA_SUCCESS && problem.empty()) problem = "context not released";
  return problem;
}

}  // namespace

DriverFacts probe_driver(const std::string& library_name) {
  DriverFacts facts;
  void* const library = ::dlopen(library_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    facts.problem = "libcuda.so.1 not found";
    return facts;
  }
  facts.found = true;
  facts.path = path_of(library);
  const Driver driver(library);
  if (!driver.complete()) {
    facts.problem = "entry points are missing: not a CUDA driver, or too old";
    return facts;
  }
  const CUresult started = driver.init(0);
  int count = 0;
  if (started != CUDA_SUCCESS) {
    facts.problem = "cuInit: " + problem_of(driver, started);
    return facts;
  }
  facts.tells_parameters = TESSERA_ENTRY(library, cuFuncGetParamInfo) != nullptr;
  if (driver.version(&facts.version) != CUDA_SUCCESS) facts.version = 0;
  if (driver.device_count(&count) != CUDA_SUCCESS) count = 0;
  for (int device = 0; device < count; ++device) {
    DeviceFacts& device_facts = facts.devices.emplace_back();
    const std::string problem = ask_device(driver, device, device_facts);
    if (!problem.empty() && facts.problem.empty()) {
      facts.problem = fmt::format("device {}: {}", device, problem);
    }
  }
  if (count == 0) facts.problem = "no device";
  // The library stays open: a driver that was initialised cannot be unloaded safely.
  return facts;
}

namespace {

constexpr int kNoGpu = 1, kOtherGpu = 2;  // exit codes of the child; 0: manageable

int judge_gpus() {
  void* const library = ::dlopen(kDriver, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return kNoGpu;
  const Driver driver(library);
  int count = 0;
  const bool usable =
      driver.complete() && driver.init(0) == CUDA_SUCCESS && driver.device_count(&count) == CUDA_SUCCESS && count > 0;
  if (!usable) return kNoGpu;
  for (int device = 0; device < count; ++device) {
    for (const CUdevice_attribute needed :
         {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED}) {
      int yes = 0;
      if (driver.attribute(&yes, needed, device) != CUDA_SUCCESS || yes == 0) return kOtherGpu;
    }
  }
  return 0;
}

}  // namespace

GpusHere probe_gpus() {
  const pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) ::_exit(judge_gpus());
  int status = 0;
  const bool ended = ::waitpid(child, &status, 0) == child && WIFEXITED(status);
  const int code = ended ? WEXITSTATUS(status) : kNoGpu;
  return {code == 0 || code == kOtherGpu, code == 0};
}

bool has_usable_gpu() { return probe_gpus().usable; }
