// Contexts, code and local memory of kernels take device memory, and fail with out of memory if there is none.
#include <cstdlib>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::build_path;
using softcuda_test::SoftwareDevice;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kContext = 6 * kMiB, kModule = 8 * kMiB, kLocal = 10 * kMiB;

class SoftcudaDeviceMemory : public SoftwareDevice {
 protected:
  void SetUp() override {
    ::setenv("TESSERA_SOFTWARE_CONTEXT", "6MiB", 1);
    ::setenv("TESSERA_SOFTWARE_MODULE", "8MiB", 1);
    ::setenv("TESSERA_SOFTWARE_LOCAL", "10MiB", 1);
    SoftwareDevice::SetUp();
  }
  // Allocates all of the device except `bytes`.
  CUdeviceptr fill_but(std::size_t bytes) { return allocate(free_memory() - bytes); }
  static std::string kernels() { return build_path("lib/tessera/probe_kernels.so"); }
};

TEST_F(SoftcudaDeviceMemory, AContextTakesDeviceMemory) {
  EXPECT_EQ(free_memory(), kMemory - kContext);
  CUcontext second = nullptr;
  ASSERT_OK(CU(cuCtxCreate)(&second, nullptr, 0, 0));
  EXPECT_EQ(free_memory(), kMemory - 2 * kContext);
  ASSERT_OK(CU(cuCtxDestroy)(second));
  ASSERT_OK(CU(cuCtxSetCurrent)(context_));
  EXPECT_EQ(free_memory(), kMemory - kContext);

  const CUdeviceptr filled = fill_but(kContext - 2 * kMiB);
  EXPECT_EQ(CU(cuCtxCreate)(&second, nullptr, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
  CUcontext current = nullptr;
  ASSERT_OK(CU(cuCtxGetCurrent)(&current));
  EXPECT_EQ(current, context_) << "a failed call changes nothing";
  ASSERT_OK(CU(cuMemFree)(filled));
}

TEST_F(SoftcudaDeviceMemory, APrimaryContextTakesItOnce) {
  CUcontext again = nullptr, other = nullptr;
  ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
  EXPECT_EQ(free_memory(), kMemory - kContext);
  ASSERT_OK(CU(cuDevicePrimaryCtxRelease)(0));
  EXPECT_EQ(free_memory(), kMemory - kContext);
  ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&other, 1));
  EXPECT_EQ(free_memory(), kMemory - kContext) << "each on its own device";
  ASSERT_OK(CU(cuDevicePrimaryCtxRelease)(1));
}

TEST_F(SoftcudaDeviceMemory, ModulesTakeMemoryAtLoadAndLibrariesAtLaunch) {
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  const std::size_t before = free_memory();
  ASSERT_OK(CU(cuModuleLoad)(&module, kernels().c_str()));
  EXPECT_EQ(free_memory(), before - kModule);
  ASSERT_OK(CU(cuModuleUnload)(module));
  EXPECT_EQ(free_memory(), before);
  ASSERT_OK(CU(cuLibraryLoadFromFile)(&library, kernels().c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(CU(cuLibraryGetKernel)(&kernel, library, "add_to"));
  EXPECT_EQ(free_memory(), before) << "no context uses it yet";

  CUdeviceptr block = allocate(64);
  int value = 1, count = 16;
  void* parameters[] = {&block, &value, &count};
  const CUdeviceptr filled = fill_but(kModule - 2 * kMiB);
  EXPECT_EQ(CU(cuModuleLoad)(&module, kernels().c_str()), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), parameters, nullptr, 16), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_OK(CU(cuMemFree)(filled));
  ASSERT_OK(launch(reinterpret_cast<CUfunction>(kernel), parameters, nullptr, 16));
  ASSERT_OK(CU(cuCtxSynchronize)());
  ASSERT_OK(CU(cuMemFree)(block));
  EXPECT_EQ(free_memory(), before - kModule - kLocal);
  ASSERT_OK(CU(cuLibraryUnload)(library));
  EXPECT_EQ(free_memory(), before - kLocal);
}

TEST_F(SoftcudaDeviceMemory, TheFirstLaunchTakesLocalMemory) {
  CUdeviceptr block = allocate(64);
  int value = 1, count = 16;
  void* parameters[] = {&block, &value, &count};
  const CUfunction add_to = kernel("add_to");
  const CUdeviceptr filled = fill_but(kLocal - 2 * kMiB);
  EXPECT_EQ(launch(add_to, parameters, nullptr, 16), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_OK(CU(cuMemFree)(filled));
  const std::size_t before = free_memory();
  ASSERT_OK(launch(add_to, parameters, nullptr, 16));
  ASSERT_OK(launch(add_to, parameters, nullptr, 16));
  ASSERT_OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(free_memory(), before - kLocal) << "once";
  ASSERT_OK(CU(cuMemFree)(block));
}

}  // namespace
