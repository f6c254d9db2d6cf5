// Addresses in a reservation behind which nothing is mapped: which calls of captures and graphs accept them.
#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaUnmapped : public SoftwareDevice {
 protected:
  static constexpr std::size_t kPage = 2 << 20;

  void SetUp() override {
    SoftwareDevice::SetUp();
    ASSERT_OK(CU(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(CU(cuMemAddressReserve)(&window_, kPage, 0, 0, 0));
    CUmemAllocationProp wanted = {};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    ASSERT_OK(CU(cuMemCreate)(&frame_, kPage, &wanted, 0));
    ASSERT_OK(CU(cuGraphCreate)(&graph_, 0));
    plain_ = allocate(kPage);
  }
  void TearDown() override {
    EXPECT_OK(CU(cuGraphDestroy)(graph_));
    EXPECT_OK(CU(cuMemFree)(plain_));
    EXPECT_OK(CU(cuMemRelease)(frame_));
    EXPECT_OK(CU(cuMemAddressFree)(window_, kPage));
    EXPECT_OK(CU(cuStreamDestroy)(stream_));
    SoftwareDevice::TearDown();
  }
  void map() {
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    ASSERT_OK(CU(cuMemMap)(window_, kPage, 0, frame_, 0));
    ASSERT_OK(CU(cuMemSetAccess)(window_, kPage, &access, 1));
  }
  void unmap() { ASSERT_OK(CU(cuMemUnmap)(window_, kPage)); }

  // What `queue` returns in a capture, which stays valid; and its graph.
  template <class Queue>
  CUresult captured(Queue queue, CUgraph* graph = nullptr) {
    CUgraph made = nullptr;
    EXPECT_OK(CU(cuStreamBeginCapture)(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    const CUresult result = queue();
    EXPECT_OK(CU(cuStreamEndCapture)(stream_, &made));
    if (graph == nullptr) {
      EXPECT_OK(CU(cuGraphDestroy)(made));
    } else {
      *graph = made;
    }
    return result;
  }
  static CUDA_MEMCPY3D copy(CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY3D params{};
    params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    params.srcDevice = from;
    params.dstDevice = to;
    params.WidthInBytes = 64;
    params.Height = params.Depth = 1;
    return params;
  }
  static CUDA_MEMSET_NODE_PARAMS set(CUdeviceptr to) { return {to, 0, 1, 1, 64, 1}; }

  CUstream stream_ = nullptr;
  CUdeviceptr window_ = 0, plain_ = 0;
  CUmemGenericAllocationHandle frame_ = 0;
  CUgraph graph_ = nullptr;
};

TEST_F(SoftcudaUnmapped, CopiesThatNameDeviceMemoryAreNotCapturedAndSetsAndKernelsAre) {
  char host[64] = {};
  const CUDA_MEMCPY3D box = copy(window_, plain_);
  CUDA_MEMCPY2D flat{};
  flat.srcMemoryType = flat.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  flat.srcDevice = plain_;
  flat.dstDevice = window_;
  flat.WidthInBytes = 64;
  flat.Height = 1;
  const CUresult refused = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(refused, captured([&] { return CU(cuMemcpyDtoDAsync)(window_, plain_, 64, stream_); }));
  EXPECT_EQ(refused, captured([&] { return CU(cuMemcpyDtoDAsync)(plain_, window_, 64, stream_); }));
  EXPECT_EQ(refused, captured([&] { return CU(cuMemcpyHtoDAsync)(window_, host, 64, stream_); }));
  EXPECT_EQ(refused, captured([&] { return CU(cuMemcpyDtoHAsync)(host, window_, 64, stream_); }));
  EXPECT_EQ(refused, captured([&] { return CU(cuMemcpy3DAsync)(&box, stream_); }));
  EXPECT_EQ(refused, captured([&] { return CU(cuMemcpy2DAsync)(&flat, stream_); }));
  EXPECT_OK(captured([&] { return CU(cuMemsetD8Async)(window_, 1, 64, stream_); }));
  EXPECT_OK(captured([&] { return CU(cuMemsetD2D8Async)(window_, 512, 1, 64, 2, stream_); }));
  int value = 1, count = 1;
  void* parameters[] = {&window_, &value, &count};
  const CUfunction add = kernel("add_to");
  EXPECT_OK(captured([&] { return launch(add, parameters, stream_); }));
}

TEST_F(SoftcudaUnmapped, ACopyOfUnknownKindIsRecordedAsOneOfHostMemory) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  EXPECT_OK(captured([&] { return CU(cuMemcpyAsync)(window_, plain_, 64, stream_); }, &graph));
  ASSERT_OK(CU(cuGraphGetNodes)(graph, &node, &count));
  CUDA_MEMCPY3D told{};
  ASSERT_OK(CU(cuGraphMemcpyNodeGetParams)(node, &told));
  EXPECT_EQ(told.dstMemoryType, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(told.dstHost, reinterpret_cast<void*>(window_));
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  map();
  EXPECT_EQ(CU(cuGraphLaunch)(exec, stream_), CUDA_ERROR_INVALID_VALUE) << "it is device memory";
  unmap();
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaUnmapped, NodesThatCopyOrSetItAreRefused) {
  CUDA_MEMSET_NODE_PARAMS filling = set(plain_);
  CUDA_MEMCPY3D copying = copy(plain_ + 4096, plain_);
  CUgraphNode fill = nullptr, move = nullptr, more = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphAddMemsetNode)(&fill, graph_, nullptr, 0, &filling, context_));
  ASSERT_OK(CU(cuGraphAddMemcpyNode)(&move, graph_, &fill, 1, &copying, context_));
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph_, 0));
  filling = set(window_);
  copying = copy(window_, plain_);
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  any.memcpy.copyParams = copying;
  const CUresult refused = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(refused, CU(cuGraphAddMemsetNode)(&more, graph_, nullptr, 0, &filling, context_));
  EXPECT_EQ(refused, CU(cuGraphAddMemcpyNode)(&more, graph_, nullptr, 0, &copying, context_));
  EXPECT_EQ(refused, CU(cuGraphAddNode)(&more, graph_, nullptr, nullptr, 0, &any));
  EXPECT_EQ(refused, CU(cuGraphMemsetNodeSetParams)(fill, &filling));
  EXPECT_EQ(refused, CU(cuGraphMemcpyNodeSetParams)(move, &copying));
  EXPECT_EQ(refused, CU(cuGraphNodeSetParams)(move, &any));
  EXPECT_EQ(refused, CU(cuGraphExecMemsetNodeSetParams)(exec, fill, &filling, context_));
  EXPECT_EQ(refused, CU(cuGraphExecMemcpyNodeSetParams)(exec, move, &copying, context_));
  EXPECT_EQ(refused, CU(cuGraphExecNodeSetParams)(exec, move, &any));
  EXPECT_OK(CU(cuGraphLaunch)(exec, stream_)) << "it is unchanged";
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
}

TEST_F(SoftcudaUnmapped, AGraphThatCopiesOrSetsItIsNotInstantiatedButClonedNestedAndUpdated) {
  CUDA_MEMSET_NODE_PARAMS filling = set(window_);
  CUDA_MEMCPY3D copying = copy(plain_, window_), told{};
  for (const bool copies : {true, false}) {
    CUgraph graph = nullptr, outer = nullptr, clone = nullptr;
    CUgraphNode node = nullptr, child = nullptr;
    CUgraphExec early = nullptr, late = nullptr;
    map();
    ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
    ASSERT_OK(CU(cuGraphCreate)(&outer, 0));
    ASSERT_OK(copies ? CU(cuGraphAddMemcpyNode)(&node, graph, nullptr, 0, &copying, context_)
                     : CU(cuGraphAddMemsetNode)(&node, graph, nullptr, 0, &filling, context_));
    ASSERT_OK(CU(cuGraphInstantiate)(&early, graph, 0));
    unmap();
    EXPECT_EQ(CU(cuGraphInstantiate)(&late, graph, 0), CUDA_ERROR_INVALID_VALUE);
    CUDA_GRAPH_INSTANTIATE_PARAMS params{};
    EXPECT_EQ(CU(cuGraphInstantiateWithParams)(&late, graph, &params), CUDA_ERROR_INVALID_VALUE);
    EXPECT_OK(CU(cuGraphClone)(&clone, graph));
    EXPECT_OK(CU(cuGraphAddChildGraphNode)(&child, outer, nullptr, 0, graph));
    EXPECT_EQ(CU(cuGraphInstantiate)(&late, outer, 0), CUDA_ERROR_INVALID_VALUE);
    CUgraphExecUpdateResultInfo info{};
    EXPECT_OK(CU(cuGraphExecUpdate)(early, graph, &info));
    if (copies) {
      EXPECT_OK(CU(cuGraphMemcpyNodeGetParams)(node, &told));
    }
    EXPECT_OK(CU(cuGraphUpload)(early, stream_));
    EXPECT_OK(CU(cuGraphExecDestroy)(early));
    for (const CUgraph each : {graph, outer, clone}) EXPECT_OK(CU(cuGraphDestroy)(each));
  }
}

TEST_F(SoftcudaUnmapped, ANewSetOfMappedMemoryNeedsAContextAndACopyDoesNot) {
  CUDA_MEMSET_NODE_PARAMS filling = set(window_);
  CUDA_MEMCPY3D copying = copy(window_, plain_);
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_MEMSET;
  any.memset = {window_, 0, 1, 4, 16, 1, nullptr};
  CUgraphNode node = nullptr;
  map();
  EXPECT_EQ(CU(cuGraphAddMemsetNode)(&node, graph_, nullptr, 0, &filling, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuGraphAddNode)(&node, graph_, nullptr, nullptr, 0, &any), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuGraphAddMemcpyNode)(&node, graph_, nullptr, 0, &copying, nullptr));
  any.memset.ctx = context_;
  EXPECT_OK(CU(cuGraphAddNode)(&node, graph_, nullptr, nullptr, 0, &any));
  filling = set(plain_);
  EXPECT_OK(CU(cuGraphAddMemsetNode)(&node, graph_, nullptr, 0, &filling, nullptr)) << "its memory has a context";
  unmap();
}

TEST_F(SoftcudaUnmapped, NoAttributeCanBeSet) {
  unsigned yes = 1;
  EXPECT_EQ(CU(cuPointerSetAttribute)(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, window_), CUDA_ERROR_INVALID_VALUE);
  map();
  EXPECT_OK(CU(cuPointerSetAttribute)(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, window_));
  unmap();
}

TEST_F(SoftcudaUnmapped, AFrameIsMappedAsAWholeAndNeverOverAnother) {
  CUdeviceptr wide = 0;
  ASSERT_OK(CU(cuMemAddressReserve)(&wide, 4 * kPage, 0, 0, 0));
  CUmemAllocationProp wanted = {};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle two = 0, none = 0;
  ASSERT_OK(CU(cuMemCreate)(&two, 2 * kPage, &wanted, 0));
  EXPECT_EQ(CU(cuMemMap)(wide, kPage, 0, two, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CU(cuMemMap)(wide, kPage, kPage, two, 0), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_OK(CU(cuMemMap)(wide, 2 * kPage, 0, two, 0));
  EXPECT_EQ(CU(cuMemMap)(wide + kPage, kPage, 0, frame_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemUnmap)(wide, kPage), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuMemUnmap)(wide, 2 * kPage));
  ASSERT_OK(CU(cuMemRelease)(two));
  ASSERT_OK(CU(cuMemAddressFree)(wide, 4 * kPage));
  wanted.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  EXPECT_EQ(CU(cuMemCreate)(&none, kPage, &wanted, 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
