// Effects that a process cannot undo: kernel faults, other kinds of machines, fork. Each test is a child of a process
// that never starts a machine itself.
#include <vector>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::in_child;

CUcontext start() {
  CUcontext context = nullptr;
  EXPECT_OK(CU(cuInit)(0));
  EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
  EXPECT_OK(CU(cuCtxSetCurrent)(context));
  return context;
}

TEST(SoftcudaMachine, AFaultingKernelGivesIllegalAddressFromThenOn) {
  EXPECT_TRUE(in_child([] {
    start();
    CUmodule module = nullptr;
    CUfunction add_to = nullptr;
    CUdeviceptr address = 0;
    const std::string kernels = softcuda_test::build_path("lib/tessera/probe_kernels.so");
    EXPECT_OK(CU(cuModuleLoad)(&module, kernels.c_str()));
    EXPECT_OK(CU(cuModuleGetFunction)(&add_to, module, "add_to"));
    EXPECT_OK(CU(cuMemAddressReserve)(&address, 2 << 20, 0, 0, 0));
    int value = 1, count = 1;
    void* parameters[] = {&address, &value, &count};
    EXPECT_OK(CU(cuLaunchKernel)(add_to, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
    CUdeviceptr block = 0;
    EXPECT_EQ(CU(cuMemAlloc)(&block, 4096), CUDA_ERROR_ILLEGAL_ADDRESS);
    return true;
  }));
}

TEST(SoftcudaMachine, WithoutVirtualMemoryTheRestWorks) {
  EXPECT_TRUE(in_child([] {
    ::setenv("TESSERA_SOFTWARE_VMM", "0", 1);
    start();
    int supported = -1;
    EXPECT_OK(CU(cuDeviceGetAttribute)(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    EXPECT_EQ(supported, 0);
    CUdeviceptr address = 0;
    EXPECT_EQ(CU(cuMemAddressReserve)(&address, 2 << 20, 0, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_OK(CU(cuMemAlloc)(&address, 4 << 20));
    EXPECT_OK(CU(cuMemsetD8)(address, 1, 4 << 20));
    EXPECT_OK(CU(cuMemFree)(address));
    return true;
  }));
}

TEST(SoftcudaMachine, WithoutHostFramesOnlyTheyAreRefused) {
  EXPECT_TRUE(in_child([] {
    ::setenv("TESSERA_SOFTWARE_HOST_FRAMES", "0", 1);
    start();
    CUmemAllocationProp wanted = {};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(CU(cuMemCreate)(&handle, 2 << 20, &wanted, 0), CUDA_ERROR_NOT_SUPPORTED);
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    EXPECT_OK(CU(cuMemCreate)(&handle, 2 << 20, &wanted, 0));
    return true;
  }));
}

TEST(SoftcudaMachine, PinnedMemoryIsBounded) {
  EXPECT_TRUE(in_child([] {
    ::setenv("TESSERA_SOFTWARE_PINNED", "8MiB", 1);
    start();
    void* first = nullptr;
    void* second = nullptr;
    std::vector<char> own(6 << 20);
    EXPECT_EQ(CU(cuMemHostAlloc)(&first, 9 << 20, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_OK(CU(cuMemHostAlloc)(&first, 6 << 20, 0));
    EXPECT_EQ(CU(cuMemAllocHost)(&second, 6 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(CU(cuMemHostRegister)(own.data(), own.size(), 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_OK(CU(cuMemFreeHost)(first));
    EXPECT_OK(CU(cuMemHostRegister)(own.data(), own.size(), 0));
    EXPECT_EQ(CU(cuMemHostAlloc)(&first, 6 << 20, 0), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_OK(CU(cuMemHostUnregister)(own.data()));
    EXPECT_OK(CU(cuMemHostAlloc)(&first, 6 << 20, 0));
    return true;
  }));
}

TEST(SoftcudaMachine, ManyDevicesOrNone) {
  EXPECT_TRUE(in_child([] {
    ::setenv("TESSERA_SOFTWARE_DEVICES", "3", 1);
    ::setenv("TESSERA_SOFTWARE_MEMORY", "1.5GiB", 1);
    start();
    int count = 0;
    std::size_t bytes = 0;
    EXPECT_OK(CU(cuDeviceGetCount)(&count));
    EXPECT_EQ(count, 3);
    EXPECT_OK(CU(cuDeviceTotalMem)(&bytes, 2));
    EXPECT_EQ(bytes, std::size_t{1536} << 20);
    return true;
  }));
  EXPECT_TRUE(in_child([] {
    ::setenv("TESSERA_SOFTWARE_DEVICES", "0", 1);
    return CU(cuInit)(0) == CUDA_ERROR_NO_DEVICE;
  }));
}

TEST(SoftcudaMachine, AnInvalidEnvironmentIsAnError) {
  EXPECT_TRUE(in_child([] {
    ::setenv("TESSERA_SOFTWARE_MEMORY", "plenty", 1);
    return CU(cuInit)(0) == CUDA_ERROR_INVALID_VALUE;
  }));
}

TEST(SoftcudaMachine, AForkedChildHasNoMachine) {
  EXPECT_TRUE(in_child([] {
    start();
    return in_child([] {
      CUdeviceptr address = 0;
      return CU(cuMemAlloc)(&address, 4096) == CUDA_ERROR_NOT_INITIALIZED &&
             CU(cuInit)(0) == CUDA_ERROR_NOT_INITIALIZED;
    });
  }));
}

}  // namespace
