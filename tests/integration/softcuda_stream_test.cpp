// Streams, events, kernels and host functions: execution order.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaStream : public SoftwareDevice {
 protected:
  void SetUp() override {
    SoftwareDevice::SetUp();
    ASSERT_OK(CU(cuStreamCreate)(&one_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(CU(cuStreamCreate)(&two_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(CU(cuMemHostAlloc)(reinterpret_cast<void**>(const_cast<int**>(&go_)), 4096, 0));
    *go_ = 0;
  }
  void TearDown() override {
    *go_ = 1;
    EXPECT_OK(CU(cuStreamDestroy)(one_));
    EXPECT_OK(CU(cuStreamDestroy)(two_));
    EXPECT_OK(CU(cuMemFreeHost)(const_cast<int*>(go_)));
    SoftwareDevice::TearDown();
  }
  // Keeps a stream busy until open().
  void hold(CUstream stream) {
    auto address = reinterpret_cast<CUdeviceptr>(go_);
    void* parameters[] = {&address};
    ASSERT_OK(launch(kernel("hold"), parameters, stream));
  }
  void open() { *go_ = 1; }

  CUstream one_ = nullptr, two_ = nullptr;
  volatile int* go_ = nullptr;
};

TEST_F(SoftcudaStream, AnEventIsReadyOnlyWhenTheWorkBeforeItHasRun) {
  CUevent event = nullptr;
  ASSERT_OK(CU(cuEventCreate)(&event, CU_EVENT_DEFAULT));
  EXPECT_OK(CU(cuEventQuery)(event));  // nothing recorded
  hold(one_);
  ASSERT_OK(CU(cuEventRecord)(event, one_));
  EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(CU(cuStreamQuery)(one_), CUDA_ERROR_NOT_READY);
  EXPECT_OK(CU(cuStreamQuery)(two_));
  open();
  EXPECT_OK(CU(cuEventSynchronize)(event));
  EXPECT_OK(CU(cuEventQuery)(event));
  EXPECT_OK(CU(cuEventDestroy)(event));
}

TEST_F(SoftcudaStream, AWaitOrdersTwoStreams) {
  CUevent event = nullptr;
  ASSERT_OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr block = allocate(4096);
  unsigned seen = 0;
  hold(one_);
  ASSERT_OK(CU(cuMemsetD32Async)(block, 77, 1024, one_));
  ASSERT_OK(CU(cuEventRecord)(event, one_));
  ASSERT_OK(CU(cuStreamWaitEvent)(two_, event, 0));
  unsigned* host = nullptr;
  ASSERT_OK(CU(cuMemHostAlloc)(reinterpret_cast<void**>(&host), 4096, 0));
  ASSERT_OK(CU(cuMemcpyDtoHAsync)(host, block, 4, two_));
  EXPECT_EQ(CU(cuStreamQuery)(two_), CUDA_ERROR_NOT_READY);
  open();
  ASSERT_OK(CU(cuStreamSynchronize)(two_));
  seen = *host;
  EXPECT_EQ(seen, 77u);
  EXPECT_OK(CU(cuMemFreeHost)(host));
  EXPECT_OK(CU(cuMemFree)(block));
  EXPECT_OK(CU(cuEventDestroy)(event));
}

TEST_F(SoftcudaStream, TheLegacyStreamWaitsForBlockingStreamsOnly) {
  CUstream blocking = nullptr;
  ASSERT_OK(CU(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
  const CUdeviceptr block = allocate(4096);
  hold(blocking);
  ASSERT_OK(CU(cuMemsetD8Async)(block, 1, 16, nullptr));
  EXPECT_EQ(CU(cuStreamQuery)(nullptr), CUDA_ERROR_NOT_READY);
  open();
  ASSERT_OK(CU(cuStreamSynchronize)(nullptr));
  EXPECT_OK(CU(cuStreamDestroy)(blocking));
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaStream, TheUseOfADestroyedStreamEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a forked child has no driver
  CUstream brief = nullptr;
  CUevent event = nullptr;
  ASSERT_OK(CU(cuStreamCreate)(&brief, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  EXPECT_OK(CU(cuEventRecord)(event, brief));
  ASSERT_OK(CU(cuStreamDestroy)(brief));
  EXPECT_DEATH((void)CU(cuEventRecord)(event, brief), "was used after cuStreamDestroy");
  EXPECT_OK(CU(cuEventDestroy)(event));
}

TEST_F(SoftcudaStream, ThePerThreadSpellingMeansAStreamForEachThread) {
  const auto query = reinterpret_cast<CUresult (*)(CUstream)>(softcuda_test::symbol("cuStreamQuery_ptsz"));
  ASSERT_NE(query, nullptr);
  hold(CU_STREAM_PER_THREAD);
  EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
  std::thread([&] {
    EXPECT_OK(CU(cuCtxSetCurrent)(context_));
    EXPECT_OK(query(nullptr));
  }).join();
  open();
  ASSERT_OK(CU(cuCtxSynchronize)());
}

TEST_F(SoftcudaStream, HostFunctionsRunInOrder) {
  static std::atomic<int> step;
  step = 0;
  const auto expect_and_set = [](void* expected) {
    int before = static_cast<int>(reinterpret_cast<std::intptr_t>(expected));
    step.compare_exchange_strong(before, before + 1);
  };
  hold(one_);
  ASSERT_OK(CU(cuLaunchHostFunc)(one_, expect_and_set, nullptr));
  ASSERT_OK(CU(cuLaunchHostFunc)(one_, expect_and_set, reinterpret_cast<void*>(1)));
  EXPECT_EQ(step, 0);
  open();
  ASSERT_OK(CU(cuStreamSynchronize)(one_));
  EXPECT_EQ(step, 2);
}

TEST_F(SoftcudaStream, KernelsOfDifferentStreamsRunSideBySide) {
  const CUdeviceptr block = allocate(4096);
  hold(one_);
  ASSERT_OK(CU(cuMemsetD8Async)(block, 1, 16, two_));  // work of the same engine
  EXPECT_OK(CU(cuStreamSynchronize)(two_));
  EXPECT_EQ(CU(cuStreamQuery)(one_), CUDA_ERROR_NOT_READY);
  open();
  ASSERT_OK(CU(cuStreamSynchronize)(one_));
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaStream, AFullStreamBlocksItsSubmitter) {
  constexpr int kDepth = 1024;
  CUevent event = nullptr;
  ASSERT_OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  hold(one_);
  std::atomic<int> queued{1};
  std::thread submitter([&] {
    EXPECT_OK(CU(cuCtxSetCurrent)(context_));
    while (queued.load() < 2 * kDepth) {
      EXPECT_OK(CU(cuEventRecord)(event, one_));
      ++queued;
    }
  });
  while (queued.load() < kDepth) std::this_thread::yield();
  EXPECT_OK(CU(cuEventRecord)(event, two_));
  EXPECT_OK(CU(cuStreamSynchronize)(two_)) << "other streams go on";
  EXPECT_EQ(queued.load(), kDepth);
  open();
  submitter.join();
  ASSERT_OK(CU(cuStreamSynchronize)(one_));
  EXPECT_OK(CU(cuEventDestroy)(event));
}

TEST_F(SoftcudaStream, ElapsedTimeIsNotNegative) {
  CUevent start = nullptr, end = nullptr;
  float milliseconds = -1;
  ASSERT_OK(CU(cuEventCreate)(&start, 0));
  ASSERT_OK(CU(cuEventCreate)(&end, 0));
  ASSERT_OK(CU(cuEventRecord)(start, one_));
  hold(one_);
  ASSERT_OK(CU(cuEventRecord)(end, one_));
  EXPECT_EQ(CU(cuEventElapsedTime)(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
  open();
  ASSERT_OK(CU(cuStreamSynchronize)(one_));
  ASSERT_OK(CU(cuEventElapsedTime)(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 0);
  EXPECT_OK(CU(cuEventDestroy)(start));
  EXPECT_OK(CU(cuEventDestroy)(end));
}

TEST_F(SoftcudaStream, FreeWaitsForTheWorkThatUsesTheBlock) {
  const CUdeviceptr block = allocate(8 << 20);
  hold(one_);
  ASSERT_OK(CU(cuMemsetD8Async)(block, 1, 8 << 20, one_));
  std::thread opener([&] { open(); });
  EXPECT_OK(CU(cuMemFree)(block));
  EXPECT_OK(CU(cuStreamQuery)(one_));
  opener.join();
}

TEST_F(SoftcudaStream, AKernelSeesItsPlaceInTheGrid) {
  const CUdeviceptr block = allocate(4096);
  CUdeviceptr out = block;
  void* parameters[] = {&out};
  ASSERT_OK(CU(cuLaunchKernel)(kernel("place"), 3, 2, 2, 2, 3, 2, 0, nullptr, parameters, nullptr));
  std::vector<int> places(12 * 12);
  ASSERT_OK(CU(cuMemcpyDtoH)(places.data(), block, places.size() * sizeof(int)));
  for (int i = 0; i < 144; ++i) ASSERT_EQ(places[static_cast<std::size_t>(i)], i / 12 * 1000 + i % 12);
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaStream, ParametersLieAsCudaLaysThem) {
  struct Mixed {
    char tag;
    double weight;
  };
  const CUfunction mixed = kernel("mixed");
  const std::size_t expected[][2] = {{0, 1}, {8, 8}, {16, 2}, {24, 16}, {40, 4}};
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_OK(CU(cuFuncGetParamInfo)(mixed, i, &offset, &size));
    EXPECT_EQ(offset, expected[i][0]) << i;
    EXPECT_EQ(size, expected[i][1]) << i;
  }
  EXPECT_EQ(CU(cuFuncGetParamInfo)(mixed, 5, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr block = allocate(64);
  struct Packed {
    char a;
    CUdeviceptr out;
    short b;
    Mixed c;
    int d;
  } packed = {1, block, 20, {3, 0.5}, 4000};
  std::size_t bytes = 44;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  ASSERT_OK(CU(cuLaunchKernel)(mixed, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  double sum = 0;
  ASSERT_OK(CU(cuMemcpyDtoH)(&sum, block, sizeof(sum)));
  EXPECT_EQ(sum, 4024.5);
  bytes = 40;
  EXPECT_EQ(CU(cuLaunchKernel)(mixed, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuLaunchKernel)(mixed, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaStream, EachLoadOfAModuleHasItsOwnVariables) {
  const std::string path = softcuda_test::build_path("lib/tessera/probe_kernels.so");
  CUmodule first = nullptr, second = nullptr;
  CUfunction count_up = nullptr;
  CUdeviceptr address[2] = {};
  std::size_t bytes = 0;
  ASSERT_OK(CU(cuModuleLoad)(&first, path.c_str()));
  ASSERT_OK(CU(cuModuleLoad)(&second, path.c_str()));
  ASSERT_OK(CU(cuModuleGetFunction)(&count_up, first, "count_up"));
  ASSERT_OK(CU(cuModuleGetGlobal)(&address[0], &bytes, first, "counter"));
  EXPECT_EQ(bytes, sizeof(int));
  ASSERT_OK(CU(cuModuleGetGlobal)(&address[1], &bytes, second, "counter"));
  ASSERT_OK(launch(count_up, nullptr));
  int values[2] = {};
  for (int i = 0; i < 2; ++i) ASSERT_OK(CU(cuMemcpyDtoH)(&values[i], address[i], sizeof(int)));
  EXPECT_EQ(values[0], 8);
  EXPECT_EQ(values[1], 7);
  EXPECT_EQ(CU(cuModuleGetFunction)(&count_up, first, "nothing"), CUDA_ERROR_NOT_FOUND);
  EXPECT_OK(CU(cuModuleUnload)(first));
  EXPECT_EQ(CU(cuModuleUnload)(first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(CU(cuModuleUnload)(second));
}

// The linker permanently remembers some objects by name, and names come from descriptor numbers, which are reused.
TEST_F(SoftcudaStream, ANewModuleIsNotConfusedWithAnUnloadedOne) {
  CUfunction function = nullptr;
  for (const auto& [file, kernel] : {std::pair{"preload_kernels.so", "add_one"},
                                     {"probe_kernels.so", "count_up"},
                                     {"preload_kernels.so", "add_one"}}) {
    CUmodule module = nullptr;
    ASSERT_OK(CU(cuModuleLoad)(&module, softcuda_test::build_path(std::string("lib/tessera/") + file).c_str()));
    EXPECT_OK(CU(cuModuleGetFunction)(&function, module, kernel));
    ASSERT_OK(CU(cuModuleUnload)(module));
  }
}

TEST_F(SoftcudaStream, ALibrarysKernelIsLaunchedLikeAFunction) {
  const std::string path = softcuda_test::build_path("lib/tessera/probe_kernels.so");
  CUlibrary library = nullptr;
  CUkernel add_to = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(CU(cuLibraryLoadFromFile)(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(CU(cuLibraryGetKernel)(&add_to, library, "add_to"));
  ASSERT_OK(CU(cuKernelGetFunction)(&function, add_to));
  const CUdeviceptr block = allocate(64);
  ASSERT_OK(CU(cuMemsetD32)(block, 5, 16));
  CUdeviceptr target = block;
  int value = 2, count = 16;
  void* parameters[] = {&target, &value, &count};
  ASSERT_OK(launch(function, parameters, nullptr, 16));
  ASSERT_OK(launch(reinterpret_cast<CUfunction>(add_to), parameters, nullptr, 16));
  int last = 0;
  ASSERT_OK(CU(cuMemcpyDtoH)(&last, block + 60, 4));
  EXPECT_EQ(last, 9);
  EXPECT_OK(CU(cuLibraryUnload)(library));
  EXPECT_EQ(launch(function, parameters), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(CU(cuMemFree)(block));
}

}  // namespace
