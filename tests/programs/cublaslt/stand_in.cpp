// cuBLASLt's matrix product for the software device: NVIDIA's own library needs the CUDA runtime, which refuses that
// device.
//
// There is one algorithm, without a workspace, for non-transposed matrices of float or double, on the caller's stream,
// captured or not. Everything else is CUBLAS_STATUS_NOT_SUPPORTED.
//
// Thread safety: as for the driver. A module per context is kept forever.
#include <cublasLt.h>
#include <cuda.h>
#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

namespace {

struct Layout {
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int64_t stride;
};
struct Operation {
  cudaDataType scale;
  int transposes[3];
};

CUmodule own_module() {
  static std::mutex mutex;
  static auto& modules = *new std::map<CUcontext, CUmodule>;
  CUcontext context = nullptr;
  Dl_info own = {};
  if (cuCtxGetCurrent(&context) != CUDA_SUCCESS || dladdr(reinterpret_cast<void*>(&own_module), &own) == 0)
    return nullptr;
  const std::lock_guard lock(mutex);
  CUmodule& found = modules[context];
  const auto file = std::filesystem::path(own.dli_fname).replace_filename("product_kernels.so");
  if (found == nullptr && cuModuleLoad(&found, file.c_str()) != CUDA_SUCCESS) return nullptr;
  return found;
}

CUfunction kernel(cudaDataType type) {
  CUfunction found = nullptr;
  CUmodule const module = own_module();
  const char* const name = type == CUDA_R_32F ? "product_float" : "product_double";
  if (module == nullptr || cuModuleGetFunction(&found, module, name) != CUDA_SUCCESS) return nullptr;
  return found;
}

template <class T, class Handle>
cublasStatus_t make(Handle* handle, T value) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = reinterpret_cast<Handle>(new T(value));
  return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Handle>
cublasStatus_t end(Handle handle) {
  delete reinterpret_cast<T*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Handle>
const T& of(Handle handle) {
  return *reinterpret_cast<const T*>(handle);
}

bool supported(const Operation& operation, std::initializer_list<const Layout*> layouts) {
  for (const int transpose : operation.transposes) {
    if (transpose != CUBLAS_OP_N) return false;
  }
  for (const Layout* layout : layouts) {
    if (layout->type != operation.scale || layout->stride < static_cast<std::int64_t>(layout->rows)) return false;
  }
  return operation.scale == CUDA_R_32F || operation.scale == CUDA_R_64F;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return make(handle, 0); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return end<int>(handle); }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t /*compute*/,
                                        cudaDataType_t scale) {
  return make(made, Operation{scale, {}});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t given) { return end<Operation>(given); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t given, cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t bytes) {
  const int place = which - CUBLASLT_MATMUL_DESC_TRANSA;
  if (place < 0 || place > 2 || bytes != sizeof(int)) return CUBLAS_STATUS_NOT_SUPPORTED;
  std::memcpy(&reinterpret_cast<Operation*>(given)->transposes[place], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
  return make(made, Layout{type, rows, columns, stride});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t given) { return end<Layout>(given); }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) { return make(made, 0); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t given) { return end<int>(given); }
// The preferences limit the workspace, which no algorithm here uses.
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t /*given*/,
                                                    cublasLtMatmulPreferenceAttributes_t which, const void* /*value*/,
                                                    size_t /*bytes*/) {
  return which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t /*what*/,
                                              cublasLtMatrixLayout_t /*a*/, cublasLtMatrixLayout_t /*b*/,
                                              cublasLtMatrixLayout_t /*old*/, cublasLtMatrixLayout_t /*c*/,
                                              cublasLtMatmulPreference_t /*given*/, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t what, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_is, const void* b, cublasLtMatrixLayout_t b_is, const void* beta,
                              const void* old, cublasLtMatrixLayout_t old_is, void* c, cublasLtMatrixLayout_t c_is,
                              const cublasLtMatmulAlgo_t* /*algorithm*/, void* /*workspace*/, size_t /*bytes*/,
                              cudaStream_t stream) {
  const auto& operation = of<Operation>(what);
  const auto& left = of<Layout>(a_is);
  const auto& right = of<Layout>(b_is);
  const auto& before = of<Layout>(old_is);
  const auto& result = of<Layout>(c_is);
  if (!supported(operation, {&left, &right, &before, &result})) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (left.columns != right.rows || left.rows != result.rows || right.columns != result.columns) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::int64_t strides[] = {result.stride, left.stride, right.stride, before.stride};
  int sizes[] = {static_cast<int>(result.rows), static_cast<int>(result.columns), static_cast<int>(left.columns)};
  void* parameters[] = {&c,
                        &a,
                        &b,
                        &old,
                        &strides[0],
                        &strides[1],
                        &strides[2],
                        &strides[3],
                        &sizes[0],
                        &sizes[1],
                        &sizes[2],
                        const_cast<void*>(alpha),
                        const_cast<void*>(beta)};
  CUfunction const function = kernel(operation.scale);
  if (function == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const unsigned strips = (static_cast<unsigned>(sizes[0]) + 31) / 32;
  const CUresult launched = cuLaunchKernel(function, (strips + 7) / 8, 1, 1, 8, 1, 1, 0,
                                           reinterpret_cast<CUstream>(stream), parameters, nullptr);
  return launched == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
