// Reported properties of graph nodes, and invalid operations on graphs, on the software device.
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "newer_cuda.h"
#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaNode : public SoftwareDevice {
 protected:
  void SetUp() override {
    SoftwareDevice::SetUp();
    ASSERT_OK(CU(cuGraphCreate)(&graph_, 0));
  }
  void TearDown() override {
    EXPECT_OK(CU(cuGraphDestroy)(graph_));
    SoftwareDevice::TearDown();
  }
  CUgraphConditionalHandle condition_of(CUgraph graph) {
    CUgraphConditionalHandle handle = 0;
    EXPECT_OK(CU(cuGraphConditionalHandleCreate)(&handle, graph, context_, 0, 0));
    return handle;
  }
  CUgraphNodeParams choice(CUgraphConditionalHandle handle, unsigned bodies) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional = {handle, CU_GRAPH_COND_TYPE_SWITCH, bodies, nullptr, context_};
    return params;
  }
  CUgraphNode allocation(std::size_t bytes, CUdeviceptr& address) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    params.bytesize = bytes;
    CUgraphNode node = nullptr;
    EXPECT_OK(CU(cuGraphAddMemAllocNode)(&node, graph_, nullptr, 0, &params));
    address = params.dptr;
    return node;
  }

  CUgraph graph_ = nullptr;
};

TEST_F(SoftcudaNode, AConditionalNodeReportsItsHandleAndBodies) {
  CUgraphNodeParams made = choice(condition_of(graph_), 3), reported{};
  CUgraphNode node = nullptr;
  ASSERT_OK(CU(cuGraphAddNode)(&node, graph_, nullptr, nullptr, 0, &made));
  ASSERT_OK(CU(cuGraphNodeGetParams)(node, &reported));
  EXPECT_EQ(reported.type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  EXPECT_EQ(reported.conditional.handle, made.conditional.handle);
  EXPECT_EQ(reported.conditional.type, CU_GRAPH_COND_TYPE_SWITCH);
  EXPECT_EQ(reported.conditional.ctx, context_);
  ASSERT_EQ(reported.conditional.size, 3u);
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(reported.conditional.phGraph_out[i], made.conditional.phGraph_out[i]);
}

TEST_F(SoftcudaNode, AConditionAppliesOnlyToItsGraphAndBodies) {
  CUgraph other = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&other, 0));
  CUgraphNodeParams params = choice(condition_of(graph_), 1);
  CUgraphNode node = nullptr;
  EXPECT_EQ(CU(cuGraphAddNode)(&node, other, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuGraphAddNode)(&node, graph_, nullptr, nullptr, 0, &params));
  CUgraphNodeParams inside = choice(condition_of(graph_), 1);
  EXPECT_OK(CU(cuGraphAddNode)(&node, params.conditional.phGraph_out[0], nullptr, nullptr, 0, &inside));
  EXPECT_OK(CU(cuGraphDestroy)(other));
}

TEST_F(SoftcudaNode, AllocationAndFreeNodesReportTheirParameters) {
  CUdeviceptr address = 0;
  const CUgraphNode made = allocation(5000, address);
  CUgraphNode freed = nullptr;
  ASSERT_OK(CU(cuGraphAddMemFreeNode)(&freed, graph_, &made, 1, address));
  CUgraphNodeParams reported{};
  ASSERT_OK(CU(cuGraphNodeGetParams)(made, &reported));
  EXPECT_EQ(reported.alloc.dptr, address);
  EXPECT_EQ(reported.alloc.bytesize, 5000u);
  EXPECT_EQ(reported.alloc.poolProps.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
  ASSERT_OK(CU(cuGraphNodeGetParams)(freed, &reported));
  EXPECT_EQ(reported.type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  EXPECT_EQ(reported.free.dptr, address);
  EXPECT_EQ(CU(cuGraphAddMemFreeNode)(&freed, graph_, nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuGraphDestroyNode)(freed), CUDA_ERROR_INVALID_VALUE) << "its graph allocates";
}

TEST_F(SoftcudaNode, MemoryThatAGraphLeavesAllocatedIsFreedBeforeItsNextLaunch) {
  CUdeviceptr address = 0;
  CUgraphExec exec = nullptr, freeing = nullptr;
  allocation(4096, address);
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, graph_, 0));
  EXPECT_EQ(CU(cuMemFree)(address), CUDA_ERROR_INVALID_VALUE) << "it is not allocated yet";
  ASSERT_OK(CU(cuGraphLaunch)(exec, nullptr));
  EXPECT_EQ(CU(cuGraphLaunch)(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuMemFree)(address));
  ASSERT_OK(CU(cuGraphLaunch)(exec, nullptr));
  ASSERT_OK(CU(cuMemFreeAsync)(address, nullptr));
  EXPECT_EQ(CU(cuMemFreeAsync)(address, nullptr), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuGraphInstantiate)(&freeing, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  ASSERT_OK(CU(cuGraphLaunch)(freeing, nullptr));
  EXPECT_OK(CU(cuGraphLaunch)(freeing, nullptr));
  ASSERT_OK(CU(cuMemFree)(address));
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphExecDestroy)(freeing));
}

// Called once when an object ends: counts the ended objects.
void ended(void* count) { ++*static_cast<int*>(count); }

TEST_F(SoftcudaNode, AnUpdateReplacesTheUserObjectsOfTheExecutable) {
  int old_ended = 0, new_ended = 0;
  CUgraph next = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&next, 0));
  const auto hold = [&](CUgraph graph, int& count) {
    CUuserObject object = nullptr;
    ASSERT_OK(CU(cuUserObjectCreate)(&object, &count, ended, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    ASSERT_OK(CU(cuGraphRetainUserObject)(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  };
  CUgraph first = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&first, 0));
  hold(first, old_ended);
  hold(next, new_ended);
  CUgraphExec exec = nullptr;
  ASSERT_OK(CU(cuGraphInstantiate)(&exec, first, 0));
  ASSERT_OK(CU(cuGraphDestroy)(first));
  EXPECT_EQ(old_ended, 0);
  CUgraphExecUpdateResultInfo info{};
  ASSERT_OK(CU(cuGraphExecUpdate)(exec, next, &info));
  EXPECT_EQ(old_ended, 1);
  ASSERT_OK(CU(cuGraphDestroy)(next));
  EXPECT_EQ(new_ended, 0);
  ASSERT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_EQ(new_ended, 1);
}

TEST_F(SoftcudaNode, AGraphIsPrintedWithItsNodesAndEdges) {
  CUgraph child = nullptr;
  CUgraphNode first = nullptr, second = nullptr, inner = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&child, 0));
  ASSERT_OK(CU(cuGraphAddEmptyNode)(&inner, child, nullptr, 0));
  ASSERT_OK(CU(cuGraphAddEmptyNode)(&first, graph_, nullptr, 0));
  ASSERT_OK(CU(cuGraphAddChildGraphNode)(&second, graph_, &first, 1, child));
  const std::string path = ::testing::TempDir() + "softcuda_node_test.dot";
  EXPECT_EQ(CU(cuGraphDebugDotPrint)(graph_, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuGraphDebugDotPrint)(graph_, "/no/such/folder/a.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
  ASSERT_OK(CU(cuGraphDebugDotPrint)(graph_, path.c_str(), CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES));
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(text.starts_with("digraph dot {")) << text;
  EXPECT_NE(text.find("\"graph_0_node_0\" -> \"graph_0_node_1\""), std::string::npos) << text;
  EXPECT_NE(text.find("graph_1_node_0"), std::string::npos) << text;
  EXPECT_NE(text.find("node handle: 0x"), std::string::npos) << text;
  EXPECT_OK(CU(cuGraphDestroy)(child));
}

}  // namespace
