// Fingerprints of device memory: our kernel (fingerprint.cu), loaded at the first call.
#include <algorithm>
#include <array>

#include "driver/cuda_context.hpp"
#include "driver/cuda_driver.hpp"
#include "driver/cuda_symbols.hpp"
#include "driver/fingerprint_ptx.hpp"

namespace tessera {
namespace {

constexpr unsigned kThreads = 256;  // FINGERPRINT_THREADS

// The layout of fingerprint.cu.
struct FingerprintRanges {
  std::array<std::uint64_t, kMostFingerprints> address{};
  std::array<std::uint32_t, kMostFingerprints> parts{};
  std::array<std::uint32_t, kMostFingerprints> first{};
};

}  // namespace

// The driver compiles the text for its device, or finds it in its cache. The module lives as long as the context and is
// never unloaded.
Status CudaDriver::load_fingerprint_kernel(CUfunction& kernel) const {
  if (symbols_->cuModuleLoadData == nullptr || symbols_->cuModuleGetFunction == nullptr ||
      symbols_->cuMemHostGetDevicePointer == nullptr) {
    return Status(Code::kNotSupported, "the CUDA driver loads no modules");
  }
  CUmodule module = nullptr;
  TESSERA_TRY(cuda_status(*symbols_, symbols_->cuModuleLoadData(&module, fingerprint_ptx()), "cuModuleLoadData"));
  return cuda_status(*symbols_, symbols_->cuModuleGetFunction(&kernel, module, "tessera_fingerprint"),
                     "cuModuleGetFunction");
}

Status CudaDriver::fingerprint(DeviceId device, std::span<const DeviceRange> ranges, Fingerprint* to, StreamId stream) {
  TESSERA_TRY(check_exists(device));
  TESSERA_TRY_ASSIGN(const CUcontext adopted, contexts_->adopted(device));
  const CudaScope scope(*symbols_, adopted);
  TESSERA_TRY(scope.status());
  Device& own = *devices_[device.value()];
  std::call_once(own.kernel_loaded, [&] {
    CUfunction kernel = nullptr;
    const Status loaded = load_fingerprint_kernel(kernel);
    if (loaded.is_ok()) own.fingerprint_kernel = kernel;
    own.kernel_problem = loaded.message();
  });
  if (own.fingerprint_kernel == nullptr) return Status(Code::kNotSupported, own.kernel_problem);

  CUdeviceptr results = 0;
  TESSERA_TRY(
      cuda_status(*symbols_, symbols_->cuMemHostGetDevicePointer(&results, to, 0), "cuMemHostGetDevicePointer"));
  FingerprintRanges table;
  std::uint32_t all = 0, most = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto parts = static_cast<std::uint32_t>(ranges[i].bytes / kFingerprintPart);
    table.address[i] = ranges[i].address.value();
    table.parts[i] = parts;
    table.first[i] = all;
    all += parts;
    most = std::max(most, parts);
  }
  std::array<void*, 2> parameters{&table, &results};
  return cuda_status(
      *symbols_,
      symbols_->cuLaunchKernel(own.fingerprint_kernel, most, static_cast<unsigned>(ranges.size()), 1, kThreads, 1, 1, 0,
                               reinterpret_cast<CUstream>(stream.value()), parameters.data(), nullptr),
      "cuLaunchKernel");
}

}  // namespace tessera
