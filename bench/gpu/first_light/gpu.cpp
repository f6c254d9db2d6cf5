#include "gpu.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace first_light {
namespace {

std::filesystem::path beside_this_program(const char* file) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / file;
}

}  // namespace

// A GPU accepts the first, the software device the second.
std::string plain_kernels_file() {
  CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
  for (const char* file : {"plain_kernels.fatbin", "plain_kernels.so"}) {
    const auto path = beside_this_program(file);
    if (!std::filesystem::exists(path)) continue;
    CUmodule module = nullptr;
    result = cuModuleLoad(&module, path.c_str());
    if (result != CUDA_SUCCESS) continue;
    MUST(cuModuleUnload(module));
    return path;
  }
  throw Failure{"cuModuleLoad(plain_kernels)", result};
}

Gpu::Gpu() {
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device_, 0));
  MUST(cuDevicePrimaryCtxRetain(&context_, device_));
  enter();
}

int Gpu::attribute(CUdevice_attribute which) const {
  int value = 0;
  MUST(cuDeviceGetAttribute(&value, which, device_));
  return value;
}

CUfunction Gpu::find(CUmodule module, const char* kernel) const {
  CUfunction function = nullptr;
  must(cuModuleGetFunction(&function, module, kernel), kernel);
  return function;
}

CUfunction Gpu::plain(const char* kernel) {
  if (plain_ == nullptr) MUST(cuModuleLoad(&plain_, plain_kernels_file().c_str()));
  return find(plain_, kernel);
}

CUfunction Gpu::device_only(const char* kernel) {
  if (device_only_ == nullptr) {
    const auto path = beside_this_program("device_kernels.fatbin");
    if (!std::filesystem::exists(path)) throw NotHere{"built without kernels for a GPU"};
    const CUresult loaded = cuModuleLoad(&device_only_, path.c_str());
    if (loaded != CUDA_SUCCESS) {
      throw NotHere{"the device does not accept kernels for sm_90a: " + name_of(loaded)};
    }
  }
  return find(device_only_, kernel);
}

CUmemAllocationProp properties(const Gpu& gpu, Place place) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = gpu.device();
  if (place == Place::kHost) {
    int node = -1;
    if (cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, gpu.device()) != CUDA_SUCCESS) {
      node = -1;
    }
    properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    properties.location.id = std::max(node, 0);
  }
  return properties;
}

Frame::Frame(const Gpu& gpu, Place place, std::size_t bytes) : bytes_(bytes), place_(place) {
  const CUmemAllocationProp wanted = properties(gpu, place);
  must(cuMemCreate(&handle_, bytes, &wanted, 0), place == Place::kHost ? "cuMemCreate(host)" : "cuMemCreate(device)");
}

Window::Window(const Gpu& gpu, std::size_t bytes) : gpu_(gpu), bytes_(bytes) {
  MUST(cuMemAddressReserve(&address_, bytes, 0, 0, 0));
}

Window::~Window() {
  (void)cuCtxSynchronize();
  for (const auto& [offset, bytes] : mapped_) (void)cuMemUnmap(address_ + offset, bytes);
  (void)cuMemAddressFree(address_, bytes_);
}

CUresult Window::map(const Frame& frame, std::size_t offset) {
  const CUresult result = cuMemMap(address_ + offset, frame.bytes(), 0, frame.handle(), 0);
  if (result == CUDA_SUCCESS) mapped_[offset] = frame.bytes();
  return result;
}

CUresult Window::open(std::size_t offset, std::size_t bytes) const {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = gpu_.device();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return cuMemSetAccess(address_ + offset, bytes, &access, 1);
}

CUresult Window::open_for_cpu(std::size_t offset, std::size_t bytes) const {
  CUmemAccessDesc access{};
  access.location = properties(gpu_, Place::kHost).location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return cuMemSetAccess(address_ + offset, bytes, &access, 1);
}

CUresult Window::unmap(std::size_t offset, std::size_t bytes) {
  const CUresult result = cuMemUnmap(address_ + offset, bytes);
  if (result == CUDA_SUCCESS) {
    mapped_.erase(mapped_.lower_bound(offset), mapped_.lower_bound(offset + bytes));
  }
  return result;
}

void Window::mount(const Frame& frame, std::size_t offset) {
  must(map(frame, offset), "cuMemMap");
  must(open(offset, frame.bytes()), "cuMemSetAccess");
}

double Event::since(const Event& start) const {
  float milliseconds = 0;
  MUST(cuEventElapsedTime(&milliseconds, start, event_));
  return static_cast<double>(milliseconds);
}

Words::Words(Gpu& gpu)
    : fill_(gpu.plain("fill_words")), sum_(gpu.plain("sum_words")), sums_(kBlocks * kThreads * sizeof(std::uint64_t)) {}

void Words::fill(CUdeviceptr at, std::size_t bytes, std::uint32_t seed, CUstream stream) {
  must(launch(fill_, kBlocks, kThreads, stream, at, std::uint64_t{bytes / 4}, seed), "fill_words");
}

std::uint64_t Words::sum(CUdeviceptr at, std::size_t bytes, CUstream stream) {
  CUdeviceptr sums = 0;
  MUST(cuMemHostGetDevicePointer(&sums, sums_.as<void>(), 0));
  must(launch(sum_, kBlocks, kThreads, stream, at, std::uint64_t{bytes / 4}, sums), "sum_words");
  MUST(cuStreamSynchronize(stream));
  std::uint64_t total = 0;
  for (unsigned i = 0; i < kBlocks * kThreads; ++i) total += sums_.as<std::uint64_t>()[i];
  return total;
}

std::uint64_t Words::expected(std::size_t bytes, std::uint32_t seed) {
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < bytes / 4; ++i) {
    const auto word = (static_cast<std::uint32_t>(i) ^ seed) * 2654435761U;
    total += word * (i % 1021 + 1);
  }
  return total;
}

}  // namespace first_light
