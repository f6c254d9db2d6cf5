// A CUDA driver for tests: softcuda from the build folder, or with TESSERA_TEST_CUDA=1 the machine's own, which needs
// kernels compiled for the GPU (TESSERA_GPU_KERNELS).
//
// Thread safety: as for CudaDriver; the machine itself belongs to one thread.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "driver/cuda_driver.hpp"
#include "driver/cuda_resolver.hpp"

namespace tessera {

class CudaMachine {
 public:
  static bool on_gpu() {
    const char* const value = std::getenv("TESSERA_TEST_CUDA");
    return value != nullptr && std::string(value) == "1";
  }
  // Located relative to this program, so that the folder can be moved to a machine with a GPU.
  static std::string built(const std::string& file) {
    const auto tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return (tests.parent_path() / "lib" / file).string();
  }

  CudaMachine() {
    auto resolver = on_gpu() ? open_cuda_library() : open_cuda_library(built("softcuda/libcuda.so.1").c_str());
    if (!resolver.is_ok()) throw std::runtime_error(resolver.status().to_string());
    resolver_ = resolver.take();
    auto opened = CudaDriver::open(resolver_);
    if (!opened.is_ok()) throw std::runtime_error(opened.status().to_string());
    driver_ = opened.take();
    enter_context();
  }
  ~CudaMachine() {
    CUcontext popped = nullptr;
    (void)call<decltype(&::cuCtxPopCurrent)>("cuCtxPopCurrent_v2")(&popped);
    driver_.reset();
    (void)call<decltype(&::cuDevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease_v2")(0);
  }
  CudaMachine(const CudaMachine&) = delete;
  CudaMachine& operator=(const CudaMachine&) = delete;

  CudaDriver& driver() { return *driver_; }

  const void* kernel(const std::string& object, const char* name) {
    const std::string file = built("tessera/" + object + (on_gpu() ? ".fatbin" : ".so"));
    CUmodule module = nullptr;
    expect(call<decltype(&::cuModuleLoad)>("cuModuleLoad")(&module, file.c_str()));
    CUfunction function = nullptr;
    expect(call<decltype(&::cuModuleGetFunction)>("cuModuleGetFunction")(&function, module, name));
    return function;
  }

  template <class Function>
  Function call(const char* name) {
    return reinterpret_cast<Function>(resolver_(name));
  }

 private:
  static void expect(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }

  // As in a program: the primary context, current on this thread.
  void enter_context() {
    CUcontext context = nullptr;
    expect(call<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context, 0));
    expect(call<decltype(&::cuCtxPushCurrent)>("cuCtxPushCurrent_v2")(context));
  }

  CudaResolver resolver_;
  std::unique_ptr<CudaDriver> driver_;
};

}  // namespace tessera
