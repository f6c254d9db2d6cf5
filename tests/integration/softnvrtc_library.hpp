// A CUDA C program, compiled by the stand-in for NVRTC.
//
// RTC(nvrtcCreateProgram) is that library's function, looked up as by a program.
//
// Thread safety: as for NVRTC.
#pragma once

#include <nvrtc.h>

#include <numeric>
#include <string>
#include <vector>

#include "softcuda_library.hpp"

namespace softcuda_test {

inline void* compiler() {
  static void* const handle = ::dlopen(build_path("lib/softcuda/libnvrtc.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

#define RTC(name) (*reinterpret_cast<decltype(&name)>(::dlsym(softcuda_test::compiler(), #name)))

// A program and the results of its compilation.
struct Compiled {
  nvrtcProgram program = nullptr;
  nvrtcResult result = NVRTC_SUCCESS;

  explicit Compiled(const char* source, std::vector<const char*> options = {}, const char* expression = nullptr) {
    EXPECT_EQ(RTC(nvrtcCreateProgram)(&program, source, "my.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
    if (expression != nullptr) RTC(nvrtcAddNameExpression)(program, expression);
    result = RTC(nvrtcCompileProgram)(program, static_cast<int>(options.size()), options.data());
  }
  ~Compiled() { EXPECT_EQ(RTC(nvrtcDestroyProgram)(&program), NVRTC_SUCCESS); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  std::string log() const {
    std::size_t bytes = 0;
    EXPECT_EQ(RTC(nvrtcGetProgramLogSize)(program, &bytes), NVRTC_SUCCESS);
    std::string text(bytes, ' ');
    EXPECT_EQ(RTC(nvrtcGetProgramLog)(program, text.data()), NVRTC_SUCCESS);
    return text;
  }
  CUfunction kernel(const char* name) const {
    EXPECT_EQ(result, NVRTC_SUCCESS) << log();
    std::size_t bytes = 0;
    EXPECT_EQ(RTC(nvrtcGetPTXSize)(program, &bytes), NVRTC_SUCCESS);
    std::vector<char> object(bytes);
    EXPECT_EQ(RTC(nvrtcGetPTX)(program, object.data()), NVRTC_SUCCESS);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_OK(CU(cuModuleLoadData)(&module, object.data()));
    EXPECT_OK(CU(cuModuleGetFunction)(&function, module, name));
    return function;
  }
};

// Provides that library.
class SoftwareCompiler : public SoftwareDevice {
 protected:
  void SetUp() override {
    SoftwareDevice::SetUp();
    ASSERT_NE(compiler(), nullptr) << ::dlerror();
  }

  // The results of `kernel(float* out, const float* in)` for 0, 1, 2 ..., in blocks of `threads`.
  std::vector<float> run(CUfunction kernel, unsigned blocks, unsigned threads) {
    std::vector<float> values(blocks * threads);
    std::iota(values.begin(), values.end(), 0.0F);
    const std::size_t bytes = values.size() * sizeof(float);
    CUdeviceptr in = allocate(bytes);
    CUdeviceptr out = allocate(bytes);
    EXPECT_OK(CU(cuMemcpyHtoD)(in, values.data(), bytes));
    void* parameters[] = {&out, &in};
    EXPECT_OK(CU(cuLaunchKernel)(kernel, blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr));
    EXPECT_OK(CU(cuMemcpyDtoH)(values.data(), out, bytes));
    EXPECT_OK(CU(cuMemFree)(in));
    EXPECT_OK(CU(cuMemFree)(out));
    return values;
  }
};

}  // namespace softcuda_test
