// Graphs and stream capture on the software device: what is captured, what is refused, and changes.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaGraph : public SoftwareDevice {
 protected:
  void SetUp() override {
    SoftwareDevice::SetUp();
    ASSERT_OK(CU(cuStreamCreate)(&stream_, CU_STREAM_DEFAULT));
    ASSERT_OK(CU(cuStreamCreate)(&other_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(CU(cuEventCreate)(&event_, CU_EVENT_DISABLE_TIMING));
    block_ = allocate(4096);
    ASSERT_OK(CU(cuMemsetD32)(block_, 0, 1024));
    ASSERT_OK(CU(cuStreamSynchronize)(nullptr));  // `other_` does not wait for it
  }
  void TearDown() override {
    EXPECT_OK(CU(cuMemFree)(block_));
    EXPECT_OK(CU(cuEventDestroy)(event_));
    EXPECT_OK(CU(cuStreamDestroy)(other_));
    EXPECT_OK(CU(cuStreamDestroy)(stream_));
    SoftwareDevice::TearDown();
  }

  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_OK(CU(cuStreamBeginCapture)(stream_, mode));
  }
  CUgraph end() {
    CUgraph graph = nullptr;
    EXPECT_OK(CU(cuStreamEndCapture)(stream_, &graph));
    return graph;
  }
  void set(CUstream stream, unsigned value) { ASSERT_OK(CU(cuMemsetD32Async)(block_, value, 1024, stream)); }
  unsigned first_word() {
    unsigned word = 0;
    EXPECT_OK(CU(cuMemcpyDtoH)(&word, block_, sizeof(word)));
    return word;
  }
  // The capture is invalid: ending it returns the error, and no graph.
  void expect_invalidated() {
    CUgraph graph = nullptr;
    EXPECT_EQ(CU(cuStreamEndCapture)(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
  }
  CUgraphNode add_set(CUgraph graph, unsigned value, std::vector<CUgraphNode> after = {}) {
    CUDA_MEMSET_NODE_PARAMS params = {block_, 0, value, 4, 1024, 1};
    CUgraphNode node = nullptr;
    EXPECT_OK(CU(cuGraphAddMemsetNode)(&node, graph, after.data(), after.size(), &params, nullptr));
    return node;
  }

  CUstream stream_ = nullptr, other_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr block_ = 0;
};

TEST_F(SoftcudaGraph, CapturedWorkRunsAtTheLaunchAndNotBefore) {
  begin();
  set(stream_, 7);
  const CUgraph graph = end();
  ASSERT_OK(CU(cuStreamSynchronize)(stream_));
  EXPECT_EQ(first_word(), 0u);
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  ASSERT_OK(CU(cuGraphDestroy)(graph));
  ASSERT_OK(CU(cuGraphLaunch)(exec, stream_));
  ASSERT_OK(CU(cuStreamSynchronize)(stream_));
  EXPECT_EQ(first_word(), 7u);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_EQ(CU(cuGraphLaunch)(exec, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaGraph, AnEventExtendsTheCaptureToAnotherStream) {
  begin();
  set(stream_, 1);
  ASSERT_OK(CU(cuEventRecord)(event_, stream_));
  ASSERT_OK(CU(cuStreamWaitEvent)(other_, event_, 0));
  CUstreamCaptureStatus status{};
  ASSERT_OK(CU(cuStreamIsCapturing)(other_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  set(other_, 2);
  ASSERT_OK(CU(cuEventRecord)(event_, other_));
  ASSERT_OK(CU(cuStreamWaitEvent)(stream_, event_, 0));
  set(stream_, 3);
  const CUgraph graph = end();
  std::array<CUgraphNode, 4> from{}, to{};
  std::size_t count = 4;
  ASSERT_OK(CU(cuGraphGetEdges)(graph, from.data(), to.data(), nullptr, &count));
  EXPECT_EQ(count, 3u);  // 1 -> 2, 1 -> 3, 2 -> 3
  EXPECT_EQ(CU(cuEventQuery)(event_), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaGraph, AnUnjoinedStreamIsAnError) {
  begin();
  ASSERT_OK(CU(cuEventRecord)(event_, stream_));
  ASSERT_OK(CU(cuStreamWaitEvent)(other_, event_, 0));
  set(other_, 2);
  CUgraph graph = nullptr;
  EXPECT_EQ(CU(cuStreamEndCapture)(other_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  expect_invalidated();
  begin();
  ASSERT_OK(CU(cuEventRecord)(event_, stream_));
  ASSERT_OK(CU(cuStreamWaitEvent)(other_, event_, 0));
  set(other_, 2);
  EXPECT_EQ(CU(cuStreamEndCapture)(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(SoftcudaGraph, ADestroyedStreamKeepsItsPartOfTheCapture) {
  for (const bool joined : {true, false}) {
    CUstream brief = nullptr;
    ASSERT_OK(CU(cuStreamCreate)(&brief, CU_STREAM_NON_BLOCKING));
    begin();
    ASSERT_OK(CU(cuEventRecord)(event_, stream_));
    ASSERT_OK(CU(cuStreamWaitEvent)(brief, event_, 0));
    set(brief, 5);
    ASSERT_OK(CU(cuEventRecord)(event_, brief));
    if (joined) {
      ASSERT_OK(CU(cuStreamWaitEvent)(stream_, event_, 0));
    }
    ASSERT_OK(CU(cuStreamDestroy)(brief));
    set(stream_, 6);
    CUgraph graph = nullptr;
    EXPECT_EQ(CU(cuStreamEndCapture)(stream_, &graph), joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    if (!joined) continue;
    std::size_t nodes = 0;
    EXPECT_OK(CU(cuGraphGetNodes)(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 2u);
    EXPECT_OK(CU(cuGraphDestroy)(graph));
  }
}

TEST_F(SoftcudaGraph, AUserObjectEndsWithItsLastReference) {
  std::atomic<int> ended = 0;
  std::atomic<bool> wait = true;
  const CUhostFn count = [](void* of) { ++*static_cast<std::atomic<int>*>(of); };
  CUuserObject object = nullptr;
  EXPECT_EQ(CU(cuUserObjectCreate)(&object, &ended, count, 1, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuUserObjectCreate)(&object, &ended, count, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  ASSERT_OK(CU(cuLaunchHostFunc)(
      stream_,
      [](void* go) {
        while (*static_cast<std::atomic<bool>*>(go)) std::this_thread::yield();
      },
      &wait));
  const CUgraph graph = end();
  ASSERT_OK(CU(cuGraphRetainUserObject)(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  EXPECT_EQ(CU(cuUserObjectRelease)(object, 1), CUDA_ERROR_INVALID_VALUE) << "it was moved";
  EXPECT_EQ(CU(cuGraphReleaseUserObject)(graph, object, 2), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  ASSERT_OK(CU(cuGraphDestroy)(graph));
  ASSERT_OK(CU(cuGraphLaunch)(exec, stream_));
  ASSERT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_EQ(ended, 0) << "its graph still runs";
  wait = false;
  ASSERT_OK(CU(cuStreamSynchronize)(stream_));
  EXPECT_EQ(ended, 1);
}

TEST_F(SoftcudaGraph, WaitingForACapturedStreamInvalidatesTheCapture) {
  begin();
  EXPECT_EQ(CU(cuStreamSynchronize)(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
  begin();
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
  begin();  // a blocking stream: the legacy stream would have to wait for it
  EXPECT_EQ(CU(cuMemsetD32)(block_, 1, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  expect_invalidated();
}

TEST_F(SoftcudaGraph, LaunchingAGraphInvalidatesACaptureInEveryMode) {
  begin();
  set(stream_, 7);
  const CUgraph graph = end();
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  for (const auto mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    begin(mode);
    EXPECT_EQ(CU(cuGraphLaunch)(exec, stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_OK(CU(cuGraphLaunch)(exec, other_)) << "it is not captured";
    expect_invalidated();
  }
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaGraph, UnsafeCallsAreRefusedByTheModesOfBothSides) {
  CUdeviceptr address = 0;
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUresult elsewhere = CUDA_SUCCESS;
  std::thread([&] {
    CU(cuCtxSetCurrent)(context_);
    elsewhere = CU(cuMemAlloc)(&address, 4096);
  }).join();
  EXPECT_EQ(elsewhere, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_OK(CU(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_OK(CU(cuMemAlloc)(&address, 4096));
  EXPECT_OK(CU(cuMemFree)(address));
  ASSERT_OK(CU(cuThreadExchangeStreamCaptureMode)(&mode));
  EXPECT_OK(CU(cuGraphDestroy)(end()));
}

TEST_F(SoftcudaGraph, AWaitForWorkOutsideOfTheCaptureIsRefused) {
  ASSERT_OK(CU(cuEventRecord)(event_, other_));
  begin();
  EXPECT_EQ(CU(cuStreamWaitEvent)(stream_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  expect_invalidated();
}

TEST_F(SoftcudaGraph, NodesRunInTheOrderOfTheirDependencies) {
  CUgraph graph = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
  const CUgraphNode last = add_set(graph, 2);
  const CUgraphNode first = add_set(graph, 1);
  ASSERT_OK(CU(cuGraphAddDependencies)(graph, &first, &last, nullptr, 1));
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  ASSERT_OK(CU(cuGraphLaunch)(exec, nullptr));
  EXPECT_EQ(first_word(), 2u);
  EXPECT_OK(CU(cuGraphNodeSetEnabled)(exec, last, 0));
  ASSERT_OK(CU(cuGraphLaunch)(exec, nullptr));
  EXPECT_EQ(first_word(), 1u);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  ASSERT_OK(CU(cuGraphAddDependencies)(graph, &last, &first, nullptr, 1));
  EXPECT_EQ(CU(cuGraphInstantiate)(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);  // a cycle
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaGraph, AFailedUpdateReportsTheDifferenceAndChangesNothing) {
  CUgraph graph = nullptr, wider = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
  (void)add_set(graph, 5);
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  ASSERT_OK(CU(cuGraphClone)(&wider, graph));
  (void)add_set(wider, 6);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(CU(cuGraphExecUpdate)(exec, wider, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  ASSERT_OK(CU(cuGraphLaunch)(exec, nullptr));
  EXPECT_EQ(first_word(), 5u);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(wider));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaGraph, AKernelNodeReportsItsParameters) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  int value = 3, count = 4;
  void* parameters[] = {&block_, &value, &count};
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = kernel("add_to");
  params.gridDimX = params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = parameters;
  ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
  ASSERT_OK(CU(cuGraphAddKernelNode)(&node, graph, nullptr, 0, &params));
  CUDA_KERNEL_NODE_PARAMS reported{};
  ASSERT_OK(CU(cuGraphKernelNodeGetParams)(node, &reported));
  EXPECT_EQ(reported.func, params.func);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(reported.kernelParams[0]), block_);
  EXPECT_EQ(*static_cast<int*>(reported.kernelParams[1]), 3);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
  EXPECT_EQ(CU(cuGraphKernelNodeGetParams)(node, &reported), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaGraph, AConditionalGraphIsNoChildAndNoClone) {
  CUgraph graph = nullptr, outer = nullptr, copy = nullptr;
  CUgraphNode node = nullptr;
  CUgraphConditionalHandle handle = 0;
  ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
  ASSERT_OK(CU(cuGraphCreate)(&outer, 0));
  EXPECT_EQ(CU(cuGraphConditionalHandleCreate)(&handle, graph, nullptr, 1, 2), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuGraphConditionalHandleCreate)(&handle, graph, nullptr, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  params.conditional.size = 2;
  EXPECT_EQ(CU(cuGraphAddNode)(&node, graph, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE)
      << "it takes one body";
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  ASSERT_OK(CU(cuGraphAddNode)(&node, graph, nullptr, nullptr, 0, &params));
  const CUgraph body = params.conditional.phGraph_out[0];
  add_set(body, 5);
  EXPECT_EQ(CU(cuGraphDestroy)(body), CUDA_ERROR_INVALID_VALUE) << "it is the node's";
  EXPECT_EQ(CU(cuGraphClone)(&copy, graph), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CU(cuGraphAddChildGraphNode)(&node, outer, nullptr, 0, graph), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph, 0));
  ASSERT_OK(CU(cuGraphLaunch)(exec, stream_));
  EXPECT_EQ(first_word(), 5u);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
  EXPECT_OK(CU(cuGraphDestroy)(outer));
  params.conditional.handle = handle;
  ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
  EXPECT_EQ(CU(cuGraphAddNode)(&node, graph, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE)
      << "the handle went with its graph";
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

}  // namespace
