// A kernel of a library (CUkernel) where a function (CUfunction) is expected, and vice versa.
//
// The runtime launches everything by CUkernel, so code that reads parameter layouts at a launch has to know which
// queries accept a CUkernel. Each query is named on standard error before it is made: a driver may crash on a handle of
// the wrong kind.
#include <functional>
#include <iostream>

#include "gpu.hpp"

namespace first_light {
namespace {

class Library {
 public:
  explicit Library(const std::string& file) {
    MUST(cuLibraryLoadFromFile(&library_, file.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  }
  ~Library() { (void)cuLibraryUnload(library_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  CUkernel kernel(const char* name) const {
    CUkernel found = nullptr;
    must(cuLibraryGetKernel(&found, library_, name), name);
    return found;
  }

 private:
  CUlibrary library_ = nullptr;
};

int code_of(const char* name, const std::function<CUresult()>& query) {
  std::cerr << "asking " << name << std::endl;
  return query();
}

// Every query of a function that a launch hook may want to make.
Json queries(CUfunction function) {
  std::size_t offset = 0, bytes = 0;
  int value = 0;
  const char* name = nullptr;
  CUmodule module = nullptr;
  return {
      {"cuFuncGetParamInfo",
       code_of("cuFuncGetParamInfo", [&] { return cuFuncGetParamInfo(function, 0, &offset, &bytes); })},
      {"cuFuncGetAttribute",
       code_of("cuFuncGetAttribute", [&] { return cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function); })},
      {"cuFuncSetAttribute",
       code_of("cuFuncSetAttribute",
               [&] { return cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024); })},
      {"cuFuncSetCacheConfig",
       code_of("cuFuncSetCacheConfig", [&] { return cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_NONE); })},
      {"cuOccupancyMaxActiveBlocksPerMultiprocessor",
       code_of("cuOccupancyMaxActiveBlocksPerMultiprocessor",
               [&] { return cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 128, 0); })},
      {"cuFuncGetName", code_of("cuFuncGetName", [&] { return cuFuncGetName(&name, function); })},
      {"cuFuncGetModule", code_of("cuFuncGetModule", [&] { return cuFuncGetModule(&module, function); })}};
}

Json kernel_queries(CUkernel kernel, CUdevice device) {
  std::size_t offset = 0, bytes = 0;
  int value = 0;
  const char* name = nullptr;
  CUfunction function = nullptr;
  return {
      {"cuKernelGetParamInfo",
       code_of("cuKernelGetParamInfo", [&] { return cuKernelGetParamInfo(kernel, 0, &offset, &bytes); })},
      {"cuKernelGetAttribute",
       code_of("cuKernelGetAttribute",
               [&] { return cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, device); })},
      {"cuKernelGetName", code_of("cuKernelGetName", [&] { return cuKernelGetName(&name, kernel); })},
      {"cuKernelGetFunction", code_of("cuKernelGetFunction", [&] { return cuKernelGetFunction(&function, kernel); })}};
}

// Which handle a graph node reports for a kernel that was launched by CUkernel during a capture.
Json node_of(CUkernel kernel, CUdeviceptr block) {
  Stream stream;
  CUgraph graph = nullptr;
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  const CUresult launched = launch(reinterpret_cast<CUfunction>(kernel), 1, 32, stream, block, std::uint64_t{32}, 1U);
  MUST(cuStreamEndCapture(stream, &graph));
  CUgraphNode node = nullptr;
  std::size_t count = 1;
  CUDA_KERNEL_NODE_PARAMS params{};
  CUresult asked = cuGraphGetNodes(graph, &node, &count);
  if (asked == CUDA_SUCCESS && count == 1) asked = cuGraphKernelNodeGetParams(node, &params);
  const Json found = {{"launch", launched},
                      {"cuGraphKernelNodeGetParams", asked},
                      {"kern_is_the_kernel", params.kern == kernel},
                      {"func_is_the_kernel", params.func == reinterpret_cast<CUfunction>(kernel)},
                      {"func", params.func != nullptr}};
  MUST(cuGraphDestroy(graph));
  return found;
}

Answer kernel_handles(const Settings&) {
  Gpu gpu;
  Answer answer;
  const Library library(plain_kernels_file());
  const CUkernel kernel = library.kernel("fill_words");
  const auto as_function = reinterpret_cast<CUfunction>(kernel);
  PlainBlock block(kMiB);
  Stream stream;
  CUfunction function = nullptr;
  MUST(cuKernelGetFunction(&function, kernel));
  answer.results["kernel asked as a kernel"] = kernel_queries(kernel, gpu.device());
  answer.results["function of the kernel"] = queries(function);
  answer.results["function of a module"] = queries(gpu.plain("fill_words"));
  const CUresult launched = launch(as_function, 1, 32, stream, CUdeviceptr(block), std::uint64_t{32}, 1U);
  stream.wait();
  answer.results["launched by its kernel"] = outcome(launched);
  answer.results["node of such a launch"] = node_of(kernel, block);
  const Json layout = answer.results["kernel asked as a kernel"]["cuKernelGetParamInfo"];
  answer.answer = launched == CUDA_SUCCESS && layout == CUDA_SUCCESS ? "yes" : "no";
  // These come last: a driver may crash here.
  answer.results["kernel asked as a function"] = queries(as_function);
  answer.results["function asked as a kernel"] = kernel_queries(reinterpret_cast<CUkernel>(function), gpu.device());
  return answer;
}

}  // namespace

std::vector<Probe> handle_probes() {
  return {{"kernel_handles", "can a kernel of a library be launched and its layout queried", kernel_handles}};
}

}  // namespace first_light
