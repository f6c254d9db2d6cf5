// Reported properties of a device whose driver refuses virtual memory; tests/contract checks that it works otherwise.
#include <cuda.h>
#include <gtest/gtest.h>

#include <string>

#include "api/allocator.hpp"
#include "cuda_machine.hpp"

namespace tessera {
namespace {

CUresult refuse_granularity(std::size_t*, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  return CUDA_ERROR_NOT_PERMITTED;
}

// On the software device, which has virtual memory according to its attributes.
std::unique_ptr<CudaDriver> refusing_driver() {
  auto software = open_cuda_library(CudaMachine::built("softcuda/libcuda.so.1").c_str()).take();
  return CudaDriver::open([software](const char* name) -> void* {
           const bool asked = std::string(name) == "cuMemGetAllocationGranularity";
           return asked ? reinterpret_cast<void*>(&refuse_granularity) : software(name);
         })
      .take();
}

TEST(CudaMemory, ADeviceWithoutAGranularityHasNoVirtualMemoryWithAReason) {
  const auto driver = refusing_driver();
  for (int asked = 0; asked < 2; ++asked) {
    const auto properties = driver->properties(DeviceId());
    ASSERT_TRUE(properties.is_ok());
    EXPECT_FALSE(properties.value().virtual_memory);
    EXPECT_NE(properties.value().virtual_memory_problem.find("CUDA_ERROR_NOT_PERMITTED"), std::string::npos)
        << properties.value().virtual_memory_problem;
  }
}

TEST(CudaMemory, TheAllocationErrorContainsTheReason) {
  const SteadyClock clock;
  Options options;
  options.log_level = "quiet";
  options.host_memory = Bytes();
  auto allocator = Allocator::create(refusing_driver(), options, clock).take();
  const auto block = allocator->allocate(DeviceId(), 1_MiB, kNoStream);
  EXPECT_EQ(block.status().code(), Code::kNotSupported);
  EXPECT_NE(std::string(block.status().message()).find("cuMemGetAllocationGranularity: CUDA_ERROR_NOT_PERMITTED"),
            std::string::npos)
      << block.status().message();
}

}  // namespace
}  // namespace tessera
