// Device and host memory through the public API: capacity, small blocks, ordering, queries.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaMemory : public SoftwareDevice {};

TEST_F(SoftcudaMemory, RunsOutAtTheCapacityAndNotBefore) {
  std::vector<CUdeviceptr> blocks;
  CUdeviceptr address = 0;
  CUresult last;
  while ((last = CU(cuMemAlloc)(&address, 8 << 20)) == CUDA_SUCCESS) blocks.push_back(address);
  EXPECT_EQ(last, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(blocks.size(), kMemory / (8 << 20));
  EXPECT_EQ(free_memory(), 0u);
  for (CUdeviceptr block : blocks) EXPECT_OK(CU(cuMemFree)(block));
  EXPECT_EQ(free_memory(), kMemory);
}

TEST_F(SoftcudaMemory, SmallBlocksShareAFrameAndDoNotOverlap) {
  const std::size_t before = free_memory();
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(allocate(300));
  EXPECT_EQ(before - free_memory(), std::size_t{2} << 20);
  std::vector<CUdeviceptr> sorted = blocks;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) ASSERT_GE(sorted[i] - sorted[i - 1], 300u);
  for (CUdeviceptr block : sorted) EXPECT_EQ(block % 512, 0u);
  for (CUdeviceptr block : blocks) EXPECT_OK(CU(cuMemFree)(block));
  EXPECT_EQ(free_memory(), before);
}

TEST_F(SoftcudaMemory, ABlockEndsAtItsRequestedSize) {
  const CUdeviceptr block = allocate(300);
  EXPECT_OK(CU(cuMemsetD8)(block, 1, 300));
  EXPECT_EQ(CU(cuMemsetD8)(block, 1, 301), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  EXPECT_OK(CU(cuMemGetAddressRange)(&base, &bytes, block + 299));
  EXPECT_EQ(base, block);
  EXPECT_EQ(bytes, 300u);
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaMemory, FreesInStreamOrderAndReusesFreedMemory) {
  CUstream stream = nullptr;
  ASSERT_OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  for (int round = 0; round < 20; ++round) {  // 20 times the whole memory
    CUdeviceptr block = 0;
    ASSERT_OK(CU(cuMemAllocAsync)(&block, kMemory, stream));
    ASSERT_OK(CU(cuMemsetD8Async)(block, 1, 4096, stream));
    ASSERT_OK(CU(cuMemFreeAsync)(block, stream));
    EXPECT_EQ(CU(cuMemFreeAsync)(block, stream), CUDA_ERROR_INVALID_VALUE);
  }
  ASSERT_OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(free_memory(), kMemory);
  ASSERT_OK(CU(cuStreamDestroy)(stream));
}

TEST_F(SoftcudaMemory, APoolIsFoundByItsPlaceToo) {
  const CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
  CUmemLocation place = {};
  place.type = CU_MEM_LOCATION_TYPE_DEVICE;
  place.id = 1;
  CUmemPoolProps props = {};
  props.allocType = type;
  props.location = place;
  CUmemoryPool usual = nullptr, made = nullptr, found = nullptr;
  ASSERT_OK(CU(cuMemGetDefaultMemPool)(&usual, &place, type));
  ASSERT_OK(CU(cuMemPoolCreate)(&made, &props));
  ASSERT_OK(CU(cuMemSetMemPool)(&place, type, made));
  ASSERT_OK(CU(cuMemGetMemPool)(&found, &place, type));
  EXPECT_EQ(found, made);
  ASSERT_OK(CU(cuMemPoolDestroy)(made));
  ASSERT_OK(CU(cuMemGetMemPool)(&found, &place, type));
  EXPECT_EQ(found, usual);
  place.type = CU_MEM_LOCATION_TYPE_HOST;
  ASSERT_OK(CU(cuMemGetMemPool)(&found, &place, type));
  EXPECT_NE(found, usual);
  place.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  EXPECT_EQ(CU(cuMemGetMemPool)(&found, &place, type), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaMemory, PitchKeepsRowsAligned) {
  CUdeviceptr block = 0;
  std::size_t pitch = 0;
  ASSERT_OK(CU(cuMemAllocPitch)(&block, &pitch, 1000, 10, 4));
  EXPECT_GE(pitch, 1000u);
  EXPECT_EQ(pitch % 512, 0u);
  EXPECT_OK(CU(cuMemsetD2D32)(block, pitch, 7, 250, 10));
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaMemory, ReportsPointerAttributes) {
  const CUdeviceptr block = allocate(4 << 20);
  unsigned kind = 0;
  CUdeviceptr start = 0;
  std::size_t size = 0;
  int device = -1;
  EXPECT_OK(CU(cuPointerGetAttribute)(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block + 5));
  EXPECT_EQ(kind, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&start, &size, &device};
  EXPECT_OK(CU(cuPointerGetAttributes)(3, attributes, values, block + 5));
  EXPECT_EQ(start, block);
  EXPECT_EQ(size, std::size_t{4} << 20);
  EXPECT_EQ(device, 0);
  EXPECT_OK(CU(cuPointerGetAttributes)(3, attributes, values, 0x1234));
  EXPECT_EQ(start, 0u);
  EXPECT_EQ(device, -2);
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaMemory, WhatIsTrueOfAPointerIsWrittenAsAnInt) {
  const CUdeviceptr block = allocate(4096);
  for (const auto& [attribute, expected] :
       {std::pair(CU_POINTER_ATTRIBUTE_IS_MANAGED, 0), std::pair(CU_POINTER_ATTRIBUTE_MAPPED, 1),
        std::pair(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0),
        std::pair(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, 1)}) {
    int alone = -1, together = -1, of_none = -1;
    EXPECT_OK(CU(cuPointerGetAttribute)(&alone, attribute, block));
    EXPECT_EQ(alone, expected) << attribute;
    CUpointer_attribute attributes[] = {attribute};
    void* into[] = {&together};
    EXPECT_OK(CU(cuPointerGetAttributes)(1, attributes, into, block));
    EXPECT_EQ(together, expected) << attribute;
    into[0] = &of_none;
    EXPECT_OK(CU(cuPointerGetAttributes)(1, attributes, into, 0x1234));
    EXPECT_EQ(of_none, 0) << attribute;
  }
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaMemory, ReportsPointerAttributesWithoutAContext) {
  const CUdeviceptr block = allocate(4096);
  ASSERT_OK(CU(cuCtxSetCurrent)(nullptr));
  CUcontext its = nullptr;
  EXPECT_OK(CU(cuPointerGetAttribute)(&its, CU_POINTER_ATTRIBUTE_CONTEXT, block));
  EXPECT_EQ(its, context_);
  ASSERT_OK(CU(cuCtxSetCurrent)(context_));
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaMemory, AZeroByteAsyncAllocationHasAnAddress) {
  CUdeviceptr first = 0, second = 0;
  ASSERT_OK(CU(cuMemAllocAsync)(&first, 0, nullptr));
  ASSERT_OK(CU(cuMemAllocAsync)(&second, 0, nullptr));
  EXPECT_NE(first, second);
  EXPECT_OK(CU(cuMemFreeAsync)(first, nullptr));
  EXPECT_OK(CU(cuMemFreeAsync)(second, nullptr));
  EXPECT_EQ(CU(cuMemAlloc)(&first, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaMemory, PinnedHostMemoryIsReachedByTheDevice) {
  int* host = nullptr;
  ASSERT_OK(CU(cuMemHostAlloc)(reinterpret_cast<void**>(&host), 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  CUdeviceptr address = 0;
  ASSERT_OK(CU(cuMemHostGetDevicePointer)(&address, host, 0));
  host[0] = 5;
  int value = 3, count = 1;
  void* parameters[] = {&address, &value, &count};
  ASSERT_OK(launch(kernel("add_to"), parameters));
  ASSERT_OK(CU(cuCtxSynchronize)());
  EXPECT_EQ(host[0], 8);
  EXPECT_OK(CU(cuMemFreeHost)(host));
  EXPECT_EQ(CU(cuMemFreeHost)(host), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaMemory, AllocatedHostMemoryIsAlwaysMappedAndNeverRegistered) {
  void *host = nullptr, *combined = nullptr, *none = this;
  unsigned flags = 0;
  std::size_t mapping = 0;
  ASSERT_OK(CU(cuMemAllocHost)(&host, (3 << 20) + 5));
  EXPECT_OK(CU(cuMemHostGetFlags)(&flags, host));
  EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_OK(
      CU(cuPointerGetAttribute)(&mapping, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, reinterpret_cast<CUdeviceptr>(host)));
  EXPECT_EQ(mapping, std::size_t{4} << 20);
  ASSERT_OK(CU(cuMemHostAlloc)(&combined, 4096, CU_MEMHOSTALLOC_WRITECOMBINED));
  EXPECT_OK(CU(cuMemHostGetFlags)(&flags, combined));
  EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_EQ(CU(cuMemHostRegister)(host, 4096, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemHostUnregister)(host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuMemHostAlloc)(&none, 0, 0));
  EXPECT_EQ(none, nullptr);
  EXPECT_OK(CU(cuMemFreeHost)(host));
  EXPECT_OK(CU(cuMemFreeHost)(combined));
}

TEST_F(SoftcudaMemory, RegisteringTwiceIsAnError) {
  std::vector<char> host(1 << 20);
  EXPECT_OK(CU(cuMemHostRegister)(host.data(), host.size(), 0));
  EXPECT_EQ(CU(cuMemHostRegister)(host.data(), host.size(), 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_OK(CU(cuMemHostUnregister)(host.data()));
  EXPECT_EQ(CU(cuMemHostUnregister)(host.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(SoftcudaMemory, UnregistersMemoryOnlyByItsStart) {
  std::vector<char> host(1 << 20);
  EXPECT_OK(CU(cuMemHostRegister)(host.data(), host.size(), 0));
  EXPECT_EQ(CU(cuMemHostUnregister)(host.data() + 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuMemHostUnregister)(host.data()));
}

TEST_F(SoftcudaMemory, ErrorStringsAreTheDrivers) {
  const char* text = nullptr;
  ASSERT_OK(CU(cuGetErrorString)(CUDA_ERROR_INVALID_DEVICE, &text));
  EXPECT_STREQ(text, "invalid device ordinal");
  ASSERT_OK(CU(cuGetErrorString)(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  ASSERT_OK(CU(cuGetErrorString)(CUDA_SUCCESS, &text));
  EXPECT_STREQ(text, "no error");
}

TEST_F(SoftcudaMemory, CopiesABoxBetweenContexts) {
  const CUdeviceptr from = allocate(64), to = allocate(64);
  ASSERT_OK(CU(cuMemsetD8)(from, 5, 64));
  ASSERT_OK(CU(cuMemsetD8)(to, 0, 64));
  CUDA_MEMCPY3D_PEER copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.srcContext = copy.dstContext = context_;
  copy.srcPitch = copy.dstPitch = 16;
  copy.srcHeight = copy.dstHeight = 2;
  copy.WidthInBytes = 8;
  copy.Height = copy.Depth = 2;
  ASSERT_OK(CU(cuMemcpy3DPeer)(&copy));
  unsigned char bytes[64] = {};
  ASSERT_OK(CU(cuMemcpyDtoH)(bytes, to, sizeof(bytes)));
  for (int i = 0; i < 64; ++i) ASSERT_EQ(bytes[i], i % 16 < 8 ? 5 : 0) << i;
  EXPECT_OK(CU(cuMemFree)(from));
  EXPECT_OK(CU(cuMemFree)(to));
}

TEST_F(SoftcudaMemory, CopiesRectanglesRowByRow) {
  std::vector<unsigned char> in(64 * 16), out(64 * 16, 0);
  std::iota(in.begin(), in.end(), static_cast<unsigned char>(0));
  const CUdeviceptr block = allocate(100 * 16);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.srcPitch = 64;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = block;
  copy.dstPitch = 100;
  copy.WidthInBytes = 64;
  copy.Height = 16;
  ASSERT_OK(CU(cuMemcpy2D)(&copy));
  CUDA_MEMCPY2D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = block;
  back.srcPitch = 100;
  back.srcXInBytes = 8;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = out.data();
  back.dstPitch = 64;
  back.dstXInBytes = 8;
  back.WidthInBytes = 56;
  back.Height = 16;
  ASSERT_OK(CU(cuMemcpy2DUnaligned)(&back));
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], i % 64 < 8 ? 0 : in[i]) << i;
  back.Height = 17;
  EXPECT_EQ(CU(cuMemcpy2D)(&back), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaMemory, CopiesABoxFromAnyCornerOfItsSlices) {
  constexpr std::size_t kPitch = 32, kRows = 8, kSlices = 3;
  std::vector<unsigned char> in(kPitch * kRows * kSlices), out(4 * 2 * 2, 0);
  std::iota(in.begin(), in.end(), static_cast<unsigned char>(0));
  const CUdeviceptr block = allocate(in.size());
  ASSERT_OK(CU(cuMemcpyHtoD)(block, in.data(), in.size()));
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = block;
  copy.srcPitch = kPitch;
  copy.srcHeight = kRows;
  copy.srcXInBytes = 5;
  copy.srcY = 3;
  copy.srcZ = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = out.data();
  copy.dstPitch = 4;
  copy.dstHeight = 2;
  copy.WidthInBytes = 4;
  copy.Height = 2;
  copy.Depth = 2;
  ASSERT_OK(CU(cuMemcpy3D)(&copy));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t x = 5 + i % 4, y = 3 + i / 4 % 2, z = 1 + i / 8;
    ASSERT_EQ(out[i], in[(z * kRows + y) * kPitch + x]) << i;
  }
  copy.srcY = kRows - 1;  // the second row would be in the next slice
  EXPECT_EQ(CU(cuMemcpy3D)(&copy), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaMemory, CopiesBetweenDevices) {
  CUcontext other = nullptr;
  ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&other, 1));
  const CUdeviceptr here = allocate(4096);
  ASSERT_OK(CU(cuMemsetD32)(here, 0xabcd, 1024));
  ASSERT_OK(CU(cuCtxPushCurrent)(other));
  const CUdeviceptr there = allocate(4096);
  ASSERT_OK(CU(cuMemcpyPeer)(there, other, here, context_, 4096));
  unsigned value = 0;
  ASSERT_OK(CU(cuMemcpyDtoH)(&value, there + 4092, 4));
  EXPECT_EQ(value, 0xabcdu);
  ASSERT_OK(CU(cuMemFree)(there));
  ASSERT_OK(CU(cuCtxPopCurrent)(&other));
  ASSERT_OK(CU(cuMemFree)(here));
  ASSERT_OK(CU(cuDevicePrimaryCtxRelease)(1));
}

class Gate {
 public:
  // Queued on the current device: later work waits until the gate is open.
  void close(CUstream stream) { ASSERT_OK(CU(cuLaunchHostFunc)(stream, wait, this)); }
  void open() { open_.store(true); }

 private:
  static void CUDA_CB wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open_.load()) std::this_thread::yield();
  }
  std::atomic<bool> open_ = false;
};

// Whether all work of the current device's legacy stream has run, within many queries.
bool runs_through() {
  for (int times = 0; times < 20000; ++times) {
    if (CU(cuStreamQuery)(nullptr) == CUDA_SUCCESS) return true;
    std::this_thread::yield();
  }
  return false;
}

TEST_F(SoftcudaMemory, ACopyBetweenDevicesIsInOrderWithAllWorkOfBoth) {
  CUcontext other = nullptr;
  ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&other, 1));
  const CUdeviceptr here = allocate(4096);
  ASSERT_OK(CU(cuMemsetD32)(here, 2, 1024));
  ASSERT_OK(CU(cuCtxPushCurrent)(other));
  const CUdeviceptr there = allocate(4096), before = allocate(4096), after = allocate(4096);
  ASSERT_OK(CU(cuMemsetD32)(there, 1, 1024));
  ASSERT_OK(CU(cuCtxSynchronize)());
  Gate theirs, ours;
  theirs.close(nullptr);
  ASSERT_OK(CU(cuMemcpyDtoDAsync)(before, there, 4096, nullptr));
  ASSERT_OK(CU(cuCtxSetCurrent)(context_));
  ASSERT_OK(CU(cuMemcpyDtoDAsync)(there, here, 4096, nullptr));
  EXPECT_FALSE(runs_through()) << "it did not wait for the other device";
  ours.close(nullptr);
  ASSERT_OK(CU(cuMemcpyDtoDAsync)(there + 2048, here, 2048, nullptr));
  theirs.open();
  ASSERT_OK(CU(cuCtxSetCurrent)(other));
  ASSERT_OK(CU(cuMemcpyDtoDAsync)(after, there, 4096, nullptr));
  EXPECT_FALSE(runs_through()) << "the other device did not wait for it";
  ours.open();
  unsigned values[2] = {};
  ASSERT_OK(CU(cuMemcpyDtoH)(&values[0], before + 4092, 4));
  ASSERT_OK(CU(cuMemcpyDtoH)(&values[1], after + 4092, 4));
  EXPECT_EQ(values[0], 1U);
  EXPECT_EQ(values[1], 2U);
  for (const CUdeviceptr block : {there, before, after}) ASSERT_OK(CU(cuMemFree)(block));
  ASSERT_OK(CU(cuCtxPopCurrent)(&other));
  ASSERT_OK(CU(cuCtxSetCurrent)(context_));
  ASSERT_OK(CU(cuMemFree)(here));
  ASSERT_OK(CU(cuDevicePrimaryCtxRelease)(1));
}

TEST_F(SoftcudaMemory, AResetPrimaryContextIsDestroyedUntilItIsRetainedAgain) {
  CUdeviceptr block = allocate(4096);
  CUcontext again = nullptr;
  unsigned flags = 0;
  int active = -1;
  ASSERT_OK(CU(cuDevicePrimaryCtxReset)(0));
  EXPECT_OK(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_EQ(CU(cuMemAlloc)(&block, 4096), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_OK(CU(cuDevicePrimaryCtxReset)(0));
  ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&again, 0));
  ASSERT_OK(CU(cuCtxSetCurrent)(again));
  EXPECT_EQ(CU(cuMemFree)(block), CUDA_ERROR_INVALID_VALUE) << "it ended with the context";
  ASSERT_OK(CU(cuMemAlloc)(&block, 4096));
  EXPECT_OK(CU(cuMemFree)(block));
  EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
  EXPECT_OK(CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
  EXPECT_EQ(active, 1) << "the test's own reference";
}

TEST_F(SoftcudaMemory, ADestroyedContextReleasesItsMemory) {
  CUcontext own = nullptr;
  const std::size_t before = free_memory();
  ASSERT_OK(CU(cuCtxCreate)(&own, nullptr, 0, 0));
  allocate(16 << 20);
  EXPECT_LT(free_memory(), before);
  ASSERT_OK(CU(cuCtxDestroy)(own));
  CUcontext current = nullptr;
  EXPECT_OK(CU(cuCtxGetCurrent)(&current));
  EXPECT_EQ(current, context_);
  EXPECT_EQ(free_memory(), before);
  EXPECT_EQ(CU(cuCtxPushCurrent)(own), CUDA_ERROR_INVALID_CONTEXT);
}

}  // namespace
