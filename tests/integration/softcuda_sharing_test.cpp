// Pools and events of several processes on the software device, as one process sees them.
// Two processes that use them: shared_pools_test.cpp.
#include <unistd.h>

#include <cstdint>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

constexpr std::size_t kBytes = 64 << 10;
constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void wait_for_end(void* pipe) {
  char word = 0;
  EXPECT_EQ(::read(*static_cast<int*>(pipe), &word, 1), 0);
}

// Its work waits until the other side closes the pipe, when it ends without it.
void send_event_and_end(int out, int in) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUipcEventHandle handle;
  int never[2];
  EXPECT_EQ(::pipe(never), 0);
  EXPECT_OK(CU(cuInit)(0));
  EXPECT_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
  EXPECT_OK(CU(cuCtxSetCurrent)(context));
  EXPECT_OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
  EXPECT_OK(CU(cuLaunchHostFunc)(stream, wait_for_end, &never[0]));
  EXPECT_OK(CU(cuEventRecord)(event, stream));
  EXPECT_OK(CU(cuIpcGetEventHandle)(&handle, event));
  EXPECT_EQ(::write(out, &handle, sizeof(handle)), static_cast<ssize_t>(sizeof(handle)));
  wait_for_end(&in);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

// First of all: where this process has a machine, its children have none.
TEST(SoftcudaProcesses, AnEventOfAProcessThatHasEndedIsOver) {
  int there[2], back[2];
  ASSERT_EQ(::pipe(there), 0);
  ASSERT_EQ(::pipe(back), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::close(there[1]);
    send_event_and_end(back[1], there[0]);
  }
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr, stale = nullptr;
  CUipcEventHandle handle;
  ASSERT_EQ(::read(back[0], &handle, sizeof(handle)), static_cast<ssize_t>(sizeof(handle)));
  ASSERT_OK(CU(cuInit)(0));
  ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
  ASSERT_OK(CU(cuCtxSetCurrent)(context));
  ASSERT_OK(CU(cuIpcOpenEventHandle)(&event, handle));
  ASSERT_OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(CU(cuStreamWaitEvent)(stream, event, 0));
  EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(CU(cuStreamQuery)(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(CU(cuIpcGetEventHandle)(&handle, event), CUDA_ERROR_INVALID_HANDLE) << "whose event it is not";
  const CUipcEventHandle sent = handle;
  ::close(there[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_OK(CU(cuEventSynchronize)(event));
  EXPECT_OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(CU(cuIpcOpenEventHandle)(&stale, sent), CUDA_ERROR_MAP_FAILED);
  EXPECT_OK(CU(cuEventDestroy)(event));
  EXPECT_OK(CU(cuStreamDestroy)(stream));
  EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
}

class SoftcudaSharing : public SoftwareDevice {
 protected:
  static CUmemoryPool pool(CUmemLocation location) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = kFile;
    props.location = location;
    CUmemoryPool made = nullptr;
    EXPECT_OK(CU(cuMemPoolCreate)(&made, &props));
    return made;
  }
  static CUmemoryPool imported(CUmemoryPool from) {
    int file = -1;
    CUmemoryPool made = nullptr;
    EXPECT_OK(CU(cuMemPoolExportToShareableHandle)(&file, from, kFile, 0));
    void* const passed = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
    EXPECT_OK(CU(cuMemPoolImportFromShareableHandle)(&made, passed, kFile, 0));
    ::close(file);
    return made;
  }
  static unsigned first_word(CUdeviceptr address) {
    unsigned word = 0;
    EXPECT_OK(CU(cuMemcpyDtoH)(&word, address, sizeof(word)));
    return word;
  }

  // The same allocation twice; what became of the second time.
  CUresult import_twice(CUmemLocation location, CUdeviceptr& own, CUdeviceptr& first, CUdeviceptr& second) {
    const CUmemoryPool made = pool(location);
    const CUmemoryPool came = imported(made);
    CUmemPoolPtrExportData data;
    EXPECT_OK(CU(cuMemAllocFromPoolAsync)(&own, kBytes, made, nullptr));
    EXPECT_OK(CU(cuMemPoolExportPointer)(&data, own));
    EXPECT_EQ(CU(cuMemPoolExportPointer)(&data, own + 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_OK(CU(cuCtxSetCurrent)(nullptr));
    EXPECT_OK(CU(cuMemPoolImportPointer)(&first, came, &data)) << "without a context";
    EXPECT_EQ(CU(cuMemPoolImportPointer)(&first, made, &data), CUDA_ERROR_INVALID_VALUE) << "no imported pool";
    const CUresult again = CU(cuMemPoolImportPointer)(&second, came, &data);
    EXPECT_OK(CU(cuCtxSetCurrent)(context_));
    EXPECT_EQ(CU(cuMemPoolExportPointer)(&data, first), CUDA_ERROR_INVALID_VALUE) << "it is another process's";
    EXPECT_OK(CU(cuMemPoolDestroy)(came));
    EXPECT_OK(CU(cuMemPoolDestroy)(made));
    return again;
  }
};

TEST_F(SoftcudaSharing, MemoryImportedTwiceIsReleasedByTheFirstFree) {
  CUdeviceptr own = 0, first = 0, second = 0;
  const std::size_t before = free_memory();
  EXPECT_OK(import_twice({CU_MEM_LOCATION_TYPE_DEVICE, 0}, own, first, second));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, own);
  ASSERT_OK(CU(cuMemsetD32)(own, 0x4321, kBytes / 4));
  EXPECT_EQ(first_word(first), 0x4321u);
  unsigned long long types = 0;
  EXPECT_OK(CU(cuPointerGetAttribute)(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, own));
  EXPECT_EQ(types, static_cast<unsigned long long>(kFile));
  std::size_t bytes = 0;
  EXPECT_OK(CU(cuPointerGetAttribute)(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, first));
  EXPECT_EQ(bytes, kBytes);
  EXPECT_OK(CU(cuMemFree)(first));
  EXPECT_EQ(CU(cuMemFree)(first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(first_word(own), 0x4321u);
  EXPECT_OK(CU(cuMemFree)(own));
  EXPECT_EQ(free_memory(), before);
}

TEST_F(SoftcudaSharing, MemoryInTheHostIsImportedOnce) {
  CUdeviceptr own = 0, first = 0, second = 0;
  EXPECT_EQ(import_twice({CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}, own, first, second), CUDA_ERROR_ALREADY_MAPPED);
  *reinterpret_cast<unsigned*>(own) = 17;
  EXPECT_EQ(*reinterpret_cast<unsigned*>(first), 17u);
  EXPECT_OK(CU(cuMemFree)(first));
  EXPECT_OK(CU(cuMemFree)(own));
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = kFile;
  props.location.type = CU_MEM_LOCATION_TYPE_HOST;
  CUmemoryPool none = nullptr;
  EXPECT_EQ(CU(cuMemPoolCreate)(&none, &props), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaSharing, PoolFilesAndFrameFilesAreNotInterchangeable) {
  const CUmemoryPool made = pool({CU_MEM_LOCATION_TYPE_DEVICE, 0});
  int file = -1;
  ASSERT_OK(CU(cuMemPoolExportToShareableHandle)(&file, made, kFile, 0));
  CUmemGenericAllocationHandle frame = 0;
  const auto passed = [&] { return reinterpret_cast<void*>(static_cast<std::intptr_t>(file)); };
  EXPECT_EQ(CU(cuMemImportFromShareableHandle)(&frame, passed(), kFile), CUDA_ERROR_INVALID_HANDLE);
  ::close(file);
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  wanted.requestedHandleTypes = kFile;
  ASSERT_OK(CU(cuMemCreate)(&frame, 2 << 20, &wanted, 0));
  CUmemAllocationProp reported{};
  EXPECT_OK(CU(cuMemGetAllocationPropertiesFromHandle)(&reported, frame));
  EXPECT_EQ(reported.requestedHandleTypes, kFile);
  ASSERT_OK(CU(cuMemExportToShareableHandle)(&file, frame, kFile, 0));
  CUmemoryPool none = nullptr;
  EXPECT_EQ(CU(cuMemPoolImportFromShareableHandle)(&none, passed(), kFile, 0), CUDA_ERROR_INVALID_VALUE);
  ::close(file);
  EXPECT_OK(CU(cuMemRelease)(frame));
  EXPECT_OK(CU(cuMemPoolDestroy)(made));
}

}  // namespace
