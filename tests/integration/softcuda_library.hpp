// The software driver's library, opened at run time as by a program, with typed functions.
//
// CU(cuMemAlloc) is the function that cuda.h maps this name to (cuMemAlloc_v2), looked up in the library, so that tests
// use the exported names and not the linker's choice.
//
// Thread safety: as for the driver API.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>

namespace softcuda_test {

inline std::string build_path(const std::string& name) { return std::string(TESSERA_TEST_BUILD_DIR) + "/" + name; }

inline void* library() {
  static void* const handle = ::dlopen(build_path("lib/softcuda/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

inline void* symbol(const char* name) { return library() == nullptr ? nullptr : ::dlsym(library(), name); }

#define SOFTCUDA_NAME_OF(name) #name
#define SOFTCUDA_NAME(name) SOFTCUDA_NAME_OF(name)
#define CU(name) (*reinterpret_cast<decltype(&name)>(softcuda_test::symbol(SOFTCUDA_NAME(name))))
#define EXPECT_OK(call) EXPECT_EQ(CUDA_SUCCESS, call)
#define ASSERT_OK(call) ASSERT_EQ(CUDA_SUCCESS, call)

// A current context on device 0, on a machine with 64 MiB of memory.
class SoftwareDevice : public ::testing::Test {
 protected:
  static constexpr std::size_t kMemory = 64 << 20;

  void SetUp() override {
    ::setenv("TESSERA_SOFTWARE_MEMORY", "64MiB", 0);
    ::setenv("TESSERA_SOFTWARE_DEVICES", "2", 0);
    ASSERT_NE(library(), nullptr) << ::dlerror();
    ASSERT_OK(CU(cuInit)(0));
    ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&context_, 0));
    ASSERT_OK(CU(cuCtxSetCurrent)(context_));
  }
  void TearDown() override {
    EXPECT_OK(CU(cuCtxSetCurrent)(nullptr));
    EXPECT_OK(CU(cuDevicePrimaryCtxRelease)(0));
  }

  std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    EXPECT_OK(CU(cuMemGetInfo)(&free, &total));
    return free;
  }
  CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_OK(CU(cuMemAlloc)(&address, bytes));
    return address;
  }
  CUfunction kernel(const char* name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_OK(CU(cuModuleLoad)(&module, build_path("lib/tessera/probe_kernels.so").c_str()));
    EXPECT_OK(CU(cuModuleGetFunction)(&function, module, name));
    return function;
  }
  CUresult launch(CUfunction function, void** parameters, CUstream stream = nullptr, unsigned threads = 1) {
    return CU(cuLaunchKernel)(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
  }

  CUcontext context_ = nullptr;
};

// Runs `body` in its own process, for effects that would disturb this one. Returns body's result.
inline bool in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() && !::testing::Test::HasFailure() ? 0 : 1);
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace softcuda_test
