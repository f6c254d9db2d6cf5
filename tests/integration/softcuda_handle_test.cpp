// Libraries, kernels, modules and functions are four kinds of handles, and each call accepts only its own kind.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::build_path;
using softcuda_test::SoftwareDevice;

template <class To, class From>
To cast(From handle) {
  return reinterpret_cast<To>(handle);
}

// The same kernels, loaded as a library and as a module, including `add_to(target, value, count)`.
class SoftcudaHandle : public SoftwareDevice {
 protected:
  void SetUp() override {
    SoftwareDevice::SetUp();
    const std::string path = build_path("lib/tessera/probe_kernels.so");
    ASSERT_OK(CU(cuLibraryLoadFromFile)(&library_, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    ASSERT_OK(CU(cuLibraryGetKernel)(&kernel_, library_, "add_to"));
    ASSERT_OK(CU(cuModuleLoad)(&module_, path.c_str()));
    ASSERT_OK(CU(cuModuleGetFunction)(&function_, module_, "add_to"));
    block_ = allocate(kCount * sizeof(int));
    ASSERT_OK(CU(cuMemsetD32)(block_, 0, kCount));
  }
  void TearDown() override {
    EXPECT_OK(CU(cuMemFree)(block_));
    EXPECT_OK(CU(cuModuleUnload)(module_));
    EXPECT_OK(CU(cuLibraryUnload)(library_));
    SoftwareDevice::TearDown();
  }

  int last_number() {
    int last = -1;
    EXPECT_OK(CU(cuMemcpyDtoH)(&last, block_ + (kCount - 1) * sizeof(int), sizeof(last)));
    return last;
  }
  CUDA_KERNEL_NODE_PARAMS node_of(CUfunction func, CUkernel kern) {
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = func;
    params.kern = kern;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = kCount;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = parameters_;
    return params;
  }

  static constexpr unsigned kCount = 16;
  CUlibrary library_ = nullptr;
  CUkernel kernel_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  CUdeviceptr block_ = 0;
  int value_ = 2;
  int count_ = kCount;
  void* parameters_[3] = {&block_, &value_, &count_};
};

TEST_F(SoftcudaHandle, QueriesAboutFunctionsTakeNoKernel) {
  const auto kernel = cast<CUfunction>(kernel_);
  std::size_t offset = 0, size = 0;
  int value = 0;
  const char* name = nullptr;
  CUmodule module = nullptr;
  CUfunctionLoadingState state{};
  EXPECT_EQ(CU(cuFuncGetParamInfo)(kernel, 0, &offset, &size), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuFuncGetName)(&name, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuFuncGetModule)(&module, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuFuncSetAttribute)(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuFuncSetCacheConfig)(kernel, CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuFuncIsLoaded)(&state, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuFuncLoad)(kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuParamSeti)(kernel, 0, 1), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SoftcudaHandle, QueriesAboutKernelsTakeNoFunction) {
  const auto function = cast<CUkernel>(function_);
  std::size_t offset = 0, size = 0;
  int value = 0;
  const char* name = nullptr;
  CUlibrary library = nullptr;
  CUfunction of_context = nullptr;
  EXPECT_EQ(CU(cuKernelGetParamInfo)(function, 0, &offset, &size), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuKernelGetName)(&name, function), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuKernelGetLibrary)(&library, function), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuKernelGetFunction)(&of_context, function), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuKernelGetAttribute)(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuKernelSetAttribute)(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64, function, 0),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuKernelSetCacheConfig)(function, CU_FUNC_CACHE_PREFER_L1, 0), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SoftcudaHandle, LibrariesAreNoModules) {
  CUfunction function = nullptr;
  CUkernel kernel = nullptr;
  CUmodule module = nullptr;
  unsigned count = 0;
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, cast<CUmodule>(library_), "add_to"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuModuleGetFunctionCount)(&count, cast<CUmodule>(library_)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuModuleUnload)(cast<CUmodule>(library_)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuLibraryGetKernel)(&kernel, cast<CUlibrary>(module_), "add_to"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuLibraryGetKernelCount)(&count, cast<CUlibrary>(module_)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuLibraryGetModule)(&module, cast<CUlibrary>(module_)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuLibraryUnload)(cast<CUlibrary>(module_)), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SoftcudaHandle, AKernelReportsItsNameParametersAndLibrary) {
  std::size_t offset = 0, size = 0;
  const char* name = nullptr;
  CUlibrary library = nullptr;
  ASSERT_OK(CU(cuKernelGetName)(&name, kernel_));
  EXPECT_STREQ(name, "add_to");
  ASSERT_OK(CU(cuKernelGetParamInfo)(kernel_, 1, &offset, &size));
  EXPECT_EQ(offset, sizeof(CUdeviceptr));
  EXPECT_EQ(size, sizeof(int));
  EXPECT_EQ(CU(cuKernelGetParamInfo)(kernel_, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuKernelGetLibrary)(&library, kernel_));
  EXPECT_EQ(library, library_);
}

TEST_F(SoftcudaHandle, AKernelIsAFunctionOfTheLibrarysModuleInEachContext) {
  CUcontext other = nullptr;
  CUfunction here = nullptr, there = nullptr, again = nullptr;
  CUmodule module = nullptr, owner = nullptr;
  ASSERT_OK(CU(cuKernelGetFunction)(&here, kernel_));
  ASSERT_OK(CU(cuLibraryGetModule)(&module, library_));
  ASSERT_OK(CU(cuFuncGetModule)(&owner, here));
  EXPECT_EQ(owner, module);
  EXPECT_NE(cast<CUkernel>(here), kernel_);
  EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_ERROR_INVALID_HANDLE);  // it belongs to the library
  ASSERT_OK(CU(cuCtxCreate)(&other, nullptr, 0, 0));
  ASSERT_OK(CU(cuKernelGetFunction)(&there, kernel_));
  EXPECT_NE(here, there);
  ASSERT_OK(CU(cuCtxDestroy)(other));
  const char* name = nullptr;
  EXPECT_EQ(CU(cuFuncGetName)(&name, there), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_OK(CU(cuKernelGetFunction)(&again, kernel_));
  EXPECT_EQ(again, here);
}

TEST_F(SoftcudaHandle, ALibrarysModuleOfAnotherContextHasVariablesOfItsOwn) {
  const std::string path = build_path("lib/tessera/preload_kernels.so");
  CUlibrary library = nullptr;
  CUcontext other = nullptr;
  CUdeviceptr here = 0, there = 0;
  std::size_t bytes = 0;
  ASSERT_OK(CU(cuLibraryLoadFromFile)(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(CU(cuLibraryGetGlobal)(&here, &bytes, library, "global_target"));
  EXPECT_EQ(bytes, sizeof(CUdeviceptr));
  ASSERT_OK(CU(cuCtxCreate)(&other, nullptr, 0, 0));
  ASSERT_OK(CU(cuLibraryGetGlobal)(&there, &bytes, library, "global_target"));
  EXPECT_NE(here, there);
  ASSERT_OK(CU(cuCtxDestroy)(other));
  EXPECT_OK(CU(cuLibraryUnload)(library));
}

TEST_F(SoftcudaHandle, AttributesOfAKernelHoldForItsFunctionUntilThatHasItsOwn) {
  constexpr auto kShared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  CUfunction function = nullptr;
  int value = 0;
  ASSERT_OK(CU(cuKernelGetFunction)(&function, kernel_));
  ASSERT_OK(CU(cuKernelSetAttribute)(kShared, 4096, kernel_, 0));
  ASSERT_OK(CU(cuFuncGetAttribute)(&value, kShared, function));
  EXPECT_EQ(value, 4096);
  ASSERT_OK(CU(cuFuncSetAttribute)(function, kShared, 8192));
  ASSERT_OK(CU(cuFuncGetAttribute)(&value, kShared, function));
  EXPECT_EQ(value, 8192);
  ASSERT_OK(CU(cuKernelGetAttribute)(&value, kShared, kernel_, 0));
  EXPECT_EQ(value, 4096);
  ASSERT_OK(CU(cuKernelGetAttribute)(&value, kShared, kernel_, 1));
  EXPECT_NE(value, 4096);  // another device
  EXPECT_EQ(CU(cuKernelGetAttribute)(&value, kShared, kernel_, 9), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(SoftcudaHandle, ListsTheContentsOfLibrariesAndModules) {
  unsigned kernels = 0, functions = 0;
  ASSERT_OK(CU(cuLibraryGetKernelCount)(&kernels, library_));
  ASSERT_OK(CU(cuModuleGetFunctionCount)(&functions, module_));
  EXPECT_EQ(kernels, functions);
  std::vector<CUkernel> all(kernels);
  ASSERT_OK(CU(cuLibraryEnumerateKernels)(all.data(), kernels, library_));
  EXPECT_EQ(std::count(all.begin(), all.end(), kernel_), 1);
  std::vector<CUfunction> each(functions);
  ASSERT_OK(CU(cuModuleEnumerateFunctions)(each.data(), functions, module_));
  EXPECT_EQ(std::count(each.begin(), each.end(), function_), 1);
  CUkernel one[2] = {nullptr, nullptr};
  ASSERT_OK(CU(cuLibraryEnumerateKernels)(one, 1, library_));
  EXPECT_EQ(one[0], all[0]);
  EXPECT_EQ(one[1], nullptr);
}

TEST_F(SoftcudaHandle, LaunchesAndOccupancyTakeBothKinds) {
  int blocks = 0;
  EXPECT_OK(launch(cast<CUfunction>(kernel_), parameters_, nullptr, kCount));
  EXPECT_OK(launch(function_, parameters_, nullptr, kCount));
  EXPECT_EQ(last_number(), 4);
  for (const CUfunction each : {cast<CUfunction>(kernel_), function_}) {
    EXPECT_OK(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, each, 32, 0));
  }
  for (const CUfunction each : {cast<CUfunction>(library_), cast<CUfunction>(module_)}) {
    EXPECT_EQ(launch(each, parameters_, nullptr, kCount), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&blocks, each, 32, 0), CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_F(SoftcudaHandle, ACooperativeLaunchHasNoMoreBlocksThanTheDeviceRuns) {
  int each = 0, processors = 0;
  ASSERT_OK(CU(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&each, function_, kCount, 0));
  ASSERT_OK(CU(cuDeviceGetAttribute)(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  const auto most = static_cast<unsigned>(each * processors);
  const auto cooperative = [&](unsigned blocks) {
    return CU(cuLaunchCooperativeKernel)(function_, blocks, 1, 1, kCount, 1, 1, 0, nullptr, parameters_);
  };
  EXPECT_OK(cooperative(most));
  EXPECT_EQ(cooperative(most + 1), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  CUlaunchConfig config{};
  config.gridDimX = most + 1;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = kCount;
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_OK(CU(cuLaunchKernelEx)(&config, function_, parameters_, nullptr));
  attribute.value.cooperative = 1;
  EXPECT_EQ(CU(cuLaunchKernelEx)(&config, function_, parameters_, nullptr), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  config.gridDimX = most;
  EXPECT_OK(CU(cuLaunchKernelEx)(&config, function_, parameters_, nullptr));
}

TEST_F(SoftcudaHandle, ACapturedKernelIsTheContextsFunctionInItsNode) {
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUfunction function = nullptr;
  std::size_t count = 1;
  ASSERT_OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(launch(cast<CUfunction>(kernel_), parameters_, stream, kCount));
  ASSERT_OK(CU(cuStreamEndCapture)(stream, &graph));
  ASSERT_OK(CU(cuGraphGetNodes)(graph, &node, &count));
  CUDA_KERNEL_NODE_PARAMS params{};
  ASSERT_OK(CU(cuGraphKernelNodeGetParams)(node, &params));
  ASSERT_OK(CU(cuKernelGetFunction)(&function, kernel_));
  EXPECT_EQ(params.func, function);
  EXPECT_EQ(params.kern, nullptr);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
  EXPECT_OK(CU(cuStreamDestroy)(stream));
}

TEST_F(SoftcudaHandle, ANodeReportsItsFunctionOrKernel) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode of_kernel = nullptr, of_function = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS params = node_of(nullptr, kernel_);
  ASSERT_OK(CU(cuGraphAddKernelNode)(&of_kernel, graph, nullptr, 0, &params));
  params = node_of(function_, cast<CUkernel>(library_));  // used only if there is no function
  ASSERT_OK(CU(cuGraphAddKernelNode)(&of_function, graph, &of_kernel, 1, &params));
  ASSERT_OK(CU(cuGraphKernelNodeGetParams)(of_kernel, &params));
  EXPECT_EQ(params.func, nullptr);
  EXPECT_EQ(params.kern, kernel_);
  EXPECT_EQ(params.ctx, context_);
  ASSERT_OK(CU(cuGraphKernelNodeGetParams)(of_function, &params));
  EXPECT_EQ(params.func, function_);
  EXPECT_EQ(params.kern, nullptr);
  // The first version of the struct has no kernel member.
  const auto get_first = reinterpret_cast<CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v1*)>(
      softcuda_test::symbol("cuGraphKernelNodeGetParams"));
  CUDA_KERNEL_NODE_PARAMS_v1 first{};
  CUfunction function = nullptr;
  ASSERT_OK(get_first(of_kernel, &first));
  ASSERT_OK(CU(cuKernelGetFunction)(&function, kernel_));
  EXPECT_EQ(first.func, function);
  ASSERT_OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
  ASSERT_OK(CU(cuGraphLaunch)(exec, nullptr));
  EXPECT_EQ(last_number(), 4);
  EXPECT_OK(CU(cuGraphExecDestroy)(exec));
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaHandle, ANodeReportsItsParametersAsGiven) {
  struct {
    CUdeviceptr target;
    int value, count;
  } packed = {block_, 3, kCount};
  std::size_t bytes = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS params = node_of(function_, nullptr);
  ASSERT_OK(CU(cuGraphAddKernelNode)(&node, graph, nullptr, 0, &params));
  ASSERT_OK(CU(cuGraphKernelNodeGetParams)(node, &params));
  EXPECT_EQ(params.extra, nullptr);
  EXPECT_EQ(*static_cast<int*>(params.kernelParams[1]), value_);
  params = node_of(function_, nullptr);
  params.kernelParams = nullptr;
  params.extra = extra;
  ASSERT_OK(CU(cuGraphKernelNodeSetParams)(node, &params));
  ASSERT_OK(CU(cuGraphKernelNodeGetParams)(node, &params));
  EXPECT_EQ(params.kernelParams, nullptr);
  ASSERT_EQ(params.extra[0], CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(std::memcmp(params.extra[1], &packed, sizeof(packed)), 0);
  ASSERT_EQ(params.extra[2], CU_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(*static_cast<std::size_t*>(params.extra[3]), sizeof(packed));
  EXPECT_EQ(params.extra[4], CU_LAUNCH_PARAM_END);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaHandle, ANodeOfAnotherKindOfHandleIsRefused) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_OK(CU(cuGraphCreate)(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS params = node_of(cast<CUfunction>(library_), nullptr);
  EXPECT_EQ(CU(cuGraphAddKernelNode)(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_HANDLE);
  params = node_of(cast<CUfunction>(kernel_), nullptr);  // which a launch takes
  EXPECT_EQ(CU(cuGraphAddKernelNode)(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_HANDLE);
  params = node_of(nullptr, cast<CUkernel>(function_));
  EXPECT_EQ(CU(cuGraphAddKernelNode)(&node, graph, nullptr, 0, &params), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(CU(cuGraphDestroy)(graph));
}

TEST_F(SoftcudaHandle, HandlesOfALibraryEndWithIt) {
  const std::string path = build_path("lib/tessera/probe_kernels.so");
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  const char* name = nullptr;
  ASSERT_OK(CU(cuLibraryLoadFromFile)(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(CU(cuLibraryGetKernel)(&kernel, library, "add_to"));
  ASSERT_OK(CU(cuKernelGetFunction)(&function, kernel));
  ASSERT_OK(CU(cuLibraryGetModule)(&module, library));
  ASSERT_OK(CU(cuLibraryUnload)(library));
  EXPECT_EQ(CU(cuKernelGetName)(&name, kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuFuncGetName)(&name, function), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "add_to"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(cast<CUfunction>(kernel), parameters_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CU(cuLibraryUnload)(library), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
