// A CUDA driver that cannot load the kernel; tests/contract checks the fingerprints themselves.
#include <cuda.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cuda_machine.hpp"

namespace tessera {
namespace {

int loads = 0;

CUresult refuse(CUmodule*, const void*) {
  ++loads;
  return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

// The software device with one call replaced.
std::unique_ptr<CudaDriver> driver_with(const char* name, void* instead) {
  auto software = open_cuda_library(CudaMachine::built("softcuda/libcuda.so.1").c_str()).take();
  return CudaDriver::open(
             [=](const char* wanted) -> void* { return std::string(wanted) == name ? instead : software(wanted); })
      .take();
}

Status ask(CudaDriver& driver) {
  Fingerprint result;
  const DeviceRange range{Address(0x10000), kFingerprintPart};
  const StreamId stream = driver.create_stream(DeviceId(0)).take();
  Status status = driver.fingerprint(DeviceId(0), {&range, 1}, &result, stream);
  EXPECT_TRUE(driver.destroy_stream(stream).is_ok());
  return status;
}

TEST(CudaFingerprint, IsNotSupportedWithoutTheCallsItTakes) {
  for (const char* name : {"cuModuleLoadData", "cuModuleGetFunction", "cuMemHostGetDevicePointer_v2"}) {
    EXPECT_EQ(ask(*driver_with(name, nullptr)).code(), Code::kNotSupported) << name;
  }
}

TEST(CudaFingerprint, IsNotSupportedWhenTheKernelIsRefusedOnce) {
  loads = 0;
  const auto driver = driver_with("cuModuleLoadData", reinterpret_cast<void*>(&refuse));
  const Status status = ask(*driver);
  EXPECT_EQ(status.code(), Code::kNotSupported);
  EXPECT_NE(status.to_string().find("cuModuleLoadData"), std::string::npos) << status.to_string();
  EXPECT_EQ(ask(*driver).code(), Code::kNotSupported);
  EXPECT_EQ(loads, 1);
}

TEST(CudaFingerprint, RefusesUnregisteredMemoryAndStaysUsable) {
  CudaMachine machine;
  EXPECT_EQ(ask(machine.driver()).code(), Code::kDriver);
  EXPECT_EQ(ask(machine.driver()).code(), Code::kDriver);
}

}  // namespace
}  // namespace tessera
