// Virtual memory management through the public API: one address with changing frames.
#include <unistd.h>

#include <vector>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaVirtualMemory : public SoftwareDevice {
 protected:
  static constexpr std::size_t kPage = 2 << 20;

  static CUmemAllocationProp properties(CUmemLocationType type) {
    CUmemAllocationProp wanted = {};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = type;
    return wanted;
  }
  CUmemGenericAllocationHandle frame(CUmemLocationType type = CU_MEM_LOCATION_TYPE_DEVICE) {
    const CUmemAllocationProp wanted = properties(type);
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(CU(cuMemCreate)(&handle, kPage, &wanted, 0));
    return handle;
  }
  CUdeviceptr reserve(std::size_t pages) {
    CUdeviceptr address = 0;
    EXPECT_OK(CU(cuMemAddressReserve)(&address, pages * kPage, 0, 0, 0));
    return address;
  }
  CUresult open(CUdeviceptr address, std::size_t pages) {
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CU(cuMemSetAccess)(address, pages * kPage, &access, 1);
  }
  unsigned read(CUdeviceptr address) {
    unsigned value = 0;
    EXPECT_OK(CU(cuMemcpyDtoH)(&value, address, sizeof(value)));
    return value;
  }
};

TEST_F(SoftcudaVirtualMemory, BytesStayWithTheirFrameWhenItMoves) {
  const CUdeviceptr address = reserve(4);
  const auto one = frame(), two = frame();
  ASSERT_OK(CU(cuMemMap)(address, kPage, 0, one, 0));
  ASSERT_OK(CU(cuMemMap)(address + kPage, kPage, 0, two, 0));
  EXPECT_EQ(CU(cuMemsetD32)(address, 1, 1), CUDA_ERROR_INVALID_VALUE);  // no access yet
  ASSERT_OK(open(address, 2));                                          // one call over both mappings
  ASSERT_OK(CU(cuMemsetD32)(address, 0x1111, kPage / 4));
  ASSERT_OK(CU(cuMemsetD32)(address + kPage, 0x2222, kPage / 4));
  ASSERT_OK(CU(cuCtxSynchronize)());
  ASSERT_OK(CU(cuMemUnmap)(address, 2 * kPage));
  EXPECT_EQ(CU(cuMemsetD32)(address, 1, 1), CUDA_ERROR_INVALID_VALUE);
  // In the other order, and elsewhere.
  ASSERT_OK(CU(cuMemMap)(address, kPage, 0, two, 0));
  ASSERT_OK(CU(cuMemMap)(address + 3 * kPage, kPage, 0, one, 0));
  ASSERT_OK(open(address, 1));
  ASSERT_OK(open(address + 3 * kPage, 1));
  EXPECT_EQ(read(address + kPage - 4), 0x2222u);
  EXPECT_EQ(read(address + 3 * kPage), 0x1111u);
  ASSERT_OK(CU(cuMemUnmap)(address, kPage));
  ASSERT_OK(CU(cuMemUnmap)(address + 3 * kPage, kPage));
  ASSERT_OK(CU(cuMemRelease)(one));
  ASSERT_OK(CU(cuMemRelease)(two));
  ASSERT_OK(CU(cuMemAddressFree)(address, 4 * kPage));
}

TEST_F(SoftcudaVirtualMemory, AFrameIsSharedByAFileIfItWasMadeForThat) {
  const auto type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  int file = -1;
  const auto plain = frame();
  EXPECT_EQ(CU(cuMemExportToShareableHandle)(&file, plain, type, 0), CUDA_ERROR_INVALID_VALUE);
  CUmemAllocationProp wanted = properties(CU_MEM_LOCATION_TYPE_DEVICE);
  wanted.requestedHandleTypes = type;
  CUmemGenericAllocationHandle made = 0, opened = 0;
  ASSERT_OK(CU(cuMemCreate)(&made, kPage, &wanted, 0));
  ASSERT_OK(CU(cuMemExportToShareableHandle)(&file, made, type, 0));
  void* const passed = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  ASSERT_OK(CU(cuMemImportFromShareableHandle)(&opened, passed, type));
  ::close(file);
  const CUdeviceptr address = reserve(2);
  ASSERT_OK(CU(cuMemMap)(address, kPage, 0, made, 0));
  ASSERT_OK(CU(cuMemMap)(address + kPage, kPage, 0, opened, 0));
  ASSERT_OK(open(address, 2));
  ASSERT_OK(CU(cuMemsetD32)(address, 0x3333, kPage / 4));
  ASSERT_OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(read(address + 2 * kPage - 4), 0x3333u);
  ASSERT_OK(CU(cuMemUnmap)(address, 2 * kPage));
  for (const auto each : {plain, made, opened}) ASSERT_OK(CU(cuMemRelease)(each));
  ASSERT_OK(CU(cuMemAddressFree)(address, 2 * kPage));
}

TEST_F(SoftcudaVirtualMemory, LegacyHandlesAreForMemoryOfPlainAllocationsAlone) {
  const auto is_capable = [](CUdeviceptr address) {
    int capable = 0;
    EXPECT_OK(CU(cuPointerGetAttribute)(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address));
    return capable;
  };
  CUipcMemHandle handle;
  CUdeviceptr plain = 0, pooled = 0;
  ASSERT_OK(CU(cuMemAlloc)(&plain, kPage));
  EXPECT_OK(CU(cuIpcGetMemHandle)(&handle, plain));
  EXPECT_TRUE(is_capable(plain));
  ASSERT_OK(CU(cuMemAllocAsync)(&pooled, kPage, nullptr));
  EXPECT_EQ(CU(cuIpcGetMemHandle)(&handle, pooled), CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(is_capable(pooled));
  const CUdeviceptr address = reserve(1);
  const auto one = frame();
  ASSERT_OK(CU(cuMemMap)(address, kPage, 0, one, 0));
  ASSERT_OK(open(address, 1));
  EXPECT_EQ(CU(cuIpcGetMemHandle)(&handle, address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(is_capable(address));
  ASSERT_OK(CU(cuMemUnmap)(address, kPage));
  ASSERT_OK(CU(cuMemRelease)(one));
  ASSERT_OK(CU(cuMemAddressFree)(address, kPage));
  ASSERT_OK(CU(cuMemFree)(pooled));
  ASSERT_OK(CU(cuMemFree)(plain));
}

TEST_F(SoftcudaVirtualMemory, AHostFrameMayReplaceADeviceFrameAtTheSameAddress) {
  const CUdeviceptr address = reserve(1);
  const std::size_t before = free_memory();
  const auto host = frame(CU_MEM_LOCATION_TYPE_HOST_NUMA);
  EXPECT_EQ(free_memory(), before);
  ASSERT_OK(CU(cuMemMap)(address, kPage, 0, host, 0));
  ASSERT_OK(open(address, 1));
  int value = 9, count = 1;
  CUdeviceptr target = address;
  ASSERT_OK(CU(cuMemsetD32)(address, 1, 1));
  void* parameters[] = {&target, &value, &count};
  ASSERT_OK(launch(kernel("add_to"), parameters));
  EXPECT_EQ(read(address), 10u);
  CUmemAllocationProp seen = {};
  EXPECT_OK(CU(cuMemGetAllocationPropertiesFromHandle)(&seen, host));
  EXPECT_EQ(seen.location.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
  ASSERT_OK(CU(cuMemUnmap)(address, kPage));
  ASSERT_OK(CU(cuMemRelease)(host));
  ASSERT_OK(CU(cuMemAddressFree)(address, kPage));
}

TEST_F(SoftcudaVirtualMemory, ReleasedFramesLiveAsLongAsTheirMapping) {
  const CUdeviceptr address = reserve(1);
  const std::size_t before = free_memory();
  const auto handle = frame();
  ASSERT_OK(CU(cuMemMap)(address, kPage, 0, handle, 0));
  ASSERT_OK(open(address, 1));
  CUmemGenericAllocationHandle again = 0;
  ASSERT_OK(CU(cuMemRetainAllocationHandle)(&again, reinterpret_cast<void*>(address)));
  EXPECT_EQ(again, handle);
  ASSERT_OK(CU(cuMemRelease)(handle));
  ASSERT_OK(CU(cuMemRelease)(again));
  ASSERT_OK(CU(cuMemsetD32)(address, 3, 1));
  EXPECT_EQ(read(address), 3u);
  EXPECT_LT(free_memory(), before);
  ASSERT_OK(CU(cuMemUnmap)(address, kPage));
  EXPECT_EQ(free_memory(), before);
  ASSERT_OK(CU(cuMemAddressFree)(address, kPage));
}

TEST_F(SoftcudaVirtualMemory, RefusesWhatAGpuRefuses) {
  const CUdeviceptr address = reserve(2);
  const auto handle = frame();
  CUdeviceptr odd = 0;
  EXPECT_EQ(CU(cuMemAddressReserve)(&odd, 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemMap)(address, kPage, kPage, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(CU(cuMemMap)(address, 2 * kPage, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemMap)(0x123400000000, kPage, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuMemMap)(address, kPage, 0, handle, 0));
  EXPECT_NE(CU(cuMemMap)(address, kPage, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_NE(CU(cuMemAddressFree)(address, 2 * kPage), CUDA_SUCCESS);
  ASSERT_OK(CU(cuMemUnmap)(address, kPage));
  ASSERT_OK(CU(cuMemRelease)(handle));
  EXPECT_NE(CU(cuMemRelease)(handle), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemAddressFree)(address, kPage), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuMemAddressFree)(address, 2 * kPage));
}

TEST_F(SoftcudaVirtualMemory, RangesMayHaveGapsButMayNotCutAMapping) {
  constexpr std::size_t kBeyond = ~std::size_t{0} / kPage * kPage;
  const CUdeviceptr address = reserve(5);  // one page, a gap of one, two pages of one frame, a gap of one
  const CUmemAllocationProp wanted = properties(CU_MEM_LOCATION_TYPE_DEVICE);
  const auto first = frame();
  CUmemGenericAllocationHandle second = 0;
  ASSERT_OK(CU(cuMemCreate)(&second, 2 * kPage, &wanted, 0));
  EXPECT_OK(CU(cuMemUnmap)(address, 5 * kPage)) << "nothing is mapped";
  EXPECT_EQ(open(address, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemMap)(address + 4 * kPage, 2 * kPage, 0, second, 0), CUDA_ERROR_INVALID_VALUE) << "beyond its end";
  ASSERT_OK(CU(cuMemMap)(address, kPage, 0, first, 0));
  ASSERT_OK(CU(cuMemMap)(address + 2 * kPage, 2 * kPage, 0, second, 0));
  EXPECT_EQ(open(address, 3), CUDA_ERROR_INVALID_VALUE) << "half of the second";
  EXPECT_EQ(open(address, kBeyond / kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(open(address, 5));
  ASSERT_OK(CU(cuMemsetD32)(address + 3 * kPage, 7, kPage / 4));
  EXPECT_EQ(CU(cuMemUnmap)(address, 3 * kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemUnmap)(address + 3 * kPage, 2 * kPage), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuMemUnmap)(address + kPage, kPage));
  EXPECT_OK(CU(cuMemUnmap)(address, kBeyond)) << "which has no effect";
  EXPECT_EQ(read(address + 4 * kPage - 4), 7u);
  EXPECT_OK(CU(cuMemUnmap)(address, 5 * kPage));
  ASSERT_OK(CU(cuMemRelease)(first));
  ASSERT_OK(CU(cuMemRelease)(second));
  ASSERT_OK(CU(cuMemAddressFree)(address, 5 * kPage));
}

TEST_F(SoftcudaVirtualMemory, FramesCountAgainstTheCapacity) {
  std::vector<CUmemGenericAllocationHandle> frames;
  const CUmemAllocationProp wanted = properties(CU_MEM_LOCATION_TYPE_DEVICE);
  CUmemGenericAllocationHandle handle = 0;
  while (CU(cuMemCreate)(&handle, kPage, &wanted, 0) == CUDA_SUCCESS) frames.push_back(handle);
  EXPECT_EQ(CU(cuMemCreate)(&handle, kPage, &wanted, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(frames.size(), kMemory / kPage);
  for (auto each : frames) EXPECT_OK(CU(cuMemRelease)(each));
}

}  // namespace
