// CUDA 13.1 to 13.5 on the software device: new variants of earlier calls, and recaptured graphs.
#include "newer_cuda.h"
#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

// Looked up by its version, as by programs of that time.
template <class Function>
Function newer(const char* name, int version) {
  void* found = nullptr;
  EXPECT_OK(CU(cuGetProcAddress)(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr));
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function>(found);
}
#define NEWER(name, version) newer<PFN_##name##_v##version>(#name, version)

class SoftcudaNewerCalls : public SoftwareDevice {
 protected:
  void SetUp() override {
    SoftwareDevice::SetUp();
    ASSERT_OK(CU(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING));
    for (CUdeviceptr& block : block_) block = allocate(kBytes);
  }
  void TearDown() override {
    for (const CUdeviceptr block : block_) EXPECT_OK(CU(cuMemFree)(block));
    EXPECT_OK(CU(cuStreamDestroy)(stream_));
    SoftwareDevice::TearDown();
  }

  void set(int block, unsigned value) { ASSERT_OK(CU(cuMemsetD32Async)(block_[block], value, kBytes / 4, stream_)); }
  unsigned first_word(int block) {
    unsigned word = 0;
    EXPECT_OK(CU(cuStreamSynchronize)(stream_));
    EXPECT_OK(CU(cuMemcpyDtoH)(&word, block_[block], sizeof(word)));
    return word;
  }
  CUgraph captured_set(int block, unsigned value) {
    CUgraph graph = nullptr;
    EXPECT_OK(CU(cuStreamBeginCapture)(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    set(block, value);
    EXPECT_OK(CU(cuStreamEndCapture)(stream_, &graph));
    return graph;
  }

  static constexpr std::size_t kBytes = 4096;
  CUstream stream_ = nullptr;
  CUdeviceptr block_[4] = {};
};

TEST_F(SoftcudaNewerCalls, CopiesTakeAttributes) {
  CUmemcpyAttributes attributes{};
  set(0, 7);
  EXPECT_OK(NEWER(cuMemcpyWithAttributesAsync, 13020)(block_[1], block_[0], kBytes, &attributes, stream_));
  EXPECT_EQ(first_word(1), 7u);
  EXPECT_EQ(NEWER(cuMemcpyWithAttributesAsync, 13020)(block_[1], block_[0], kBytes, nullptr, stream_),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaNewerCalls, NewerAttributesAreZeroAndLaterOnesAreInvalid) {
  int value = 1;
  EXPECT_OK(CU(cuDeviceGetAttribute)(&value, static_cast<CUdevice_attribute>(TESSERA_DEVICE_ATTRIBUTE_END - 1), 0));
  EXPECT_EQ(value, 0);
  EXPECT_EQ(CU(cuDeviceGetAttribute)(&value, static_cast<CUdevice_attribute>(TESSERA_DEVICE_ATTRIBUTE_END), 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaNewerCalls, AnEndOnAnotherMachineIsNotSupported) {
  CUDA_FABRIC_COPY_BATCH_OP copy{};
  copy.src.type = CU_FABRIC_COPY_OPERAND_TYPE_POINTER;
  copy.src.op.ptr.ptr = block_[0];
  copy.dst.type = CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT;
  copy.size = kBytes;
  EXPECT_EQ(NEWER(cuFabricCpyBatchAsync, 13050)(1, &copy, 0, stream_), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(NEWER(cuFabricCpyBatchAsync, 13050)(1, &copy, 0, CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaNewerCalls, ANodeReportsItsParametersByOneCall) {
  const CUgraph graph = captured_set(2, 9);
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  ASSERT_OK(CU(cuGraphGetNodes)(graph, &node, &count));
  CUgraphNodeParams params;
  ASSERT_OK(NEWER(cuGraphNodeGetParams, 13020)(node, &params));
  EXPECT_EQ(params.type, CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(params.memset.dst, block_[2]);
  EXPECT_EQ(params.memset.value, 9u);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaNewerCalls, KernelsReportTheirParameterCount) {
  std::size_t count = 0;
  ASSERT_OK(NEWER(cuFuncGetParamCount, 13020)(kernel("mixed"), &count));
  EXPECT_EQ(count, 5u);
  EXPECT_EQ(NEWER(cuFuncGetParamCount, 13020)(nullptr, &count), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SoftcudaNewerCalls, AGraphIsCapturedAgainIntoTheSameNodes) {
  const auto again = NEWER(cuStreamBeginRecaptureToGraph, 13030);
  const CUgraph graph = captured_set(0, 1);
  CUgraph same = nullptr;
  ASSERT_OK(again(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, graph, nullptr, nullptr));
  set(1, 5);
  ASSERT_OK(CU(cuStreamEndCapture)(stream_, &same));
  EXPECT_EQ(same, graph);
  std::size_t count = 0;
  EXPECT_OK(CU(cuGraphGetNodes)(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  EXPECT_OK(CU(cuGraphLaunch)(exec, stream_));
  EXPECT_EQ(first_word(1), 5u);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaNewerCalls, DifferentOrMissingNodesFailTheRecapture) {
  const auto again = NEWER(cuStreamBeginRecaptureToGraph, 13030);
  constexpr auto kFailure = static_cast<CUresult>(918);  // CUDA_ERROR_GRAPH_RECAPTURE_FAILURE
  const CUgraph graph = captured_set(0, 1);
  CUgraph none = nullptr;
  ASSERT_OK(again(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, graph, nullptr, nullptr));
  EXPECT_EQ(CU(cuMemcpyAsync)(block_[1], block_[0], kBytes, stream_), kFailure);
  EXPECT_EQ(CU(cuStreamEndCapture)(stream_, &none), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  ASSERT_OK(again(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, graph, nullptr, nullptr));
  EXPECT_EQ(CU(cuStreamEndCapture)(stream_, &none), kFailure);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

}  // namespace
