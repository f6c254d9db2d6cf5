// Which form of cuMemcpyBatchAsync is called, and with which arguments; tests/contract checks that copies arrive.
#include <cuda.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "cuda_machine.hpp"

namespace tessera {
namespace {

struct Seen {
  std::vector<CUdeviceptr> to, from;
  std::vector<std::size_t> sizes;
  CUmemcpyAttributes attributes{};
  std::size_t first = 1, attribute_count = 0;
  CUstream stream = nullptr;
  int of_13 = 0, of_12_8 = 0;
} seen;

CUresult of_13(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
               CUmemcpyAttributes* attributes, std::size_t* starts, std::size_t attribute_count, CUstream stream) {
  seen.to.assign(to, to + count);
  seen.from.assign(from, from + count);
  seen.sizes.assign(sizes, sizes + count);
  seen.attributes = *attributes;
  seen.first = *starts;
  seen.attribute_count = attribute_count;
  seen.stream = stream;
  ++seen.of_13;
  return CUDA_SUCCESS;
}

CUresult of_12_8(CUdeviceptr* to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                 CUmemcpyAttributes* attributes, std::size_t* starts, std::size_t attribute_count, std::size_t* refused,
                 CUstream stream) {
  *refused = count;  // if the stream were passed in this place, this write would fault
  ++seen.of_12_8;
  const CUresult result = of_13(to, from, sizes, count, attributes, starts, attribute_count, stream);
  --seen.of_13;
  return result;
}

class CudaCopies : public testing::Test {
 protected:
  CudaCopies() { seen = {}; }
  // On the software device, with the forms that a driver of some version exports.
  static std::unique_ptr<CudaDriver> driver(bool has_13, bool has_12_8) {
    auto software = open_cuda_library(CudaMachine::built("softcuda/libcuda.so.1").c_str()).take();
    return CudaDriver::open([=](const char* name) -> void* {
             const std::string wanted = name;
             if (wanted == "cuMemcpyBatchAsync_v2") {
               return has_13 ? reinterpret_cast<void*>(&of_13) : nullptr;
             }
             if (wanted == "cuMemcpyBatchAsync") {
               return has_12_8 ? reinterpret_cast<void*>(&of_12_8) : nullptr;
             }
             return software(name);
           })
        .take();
  }
  Status copy_all(CudaDriver& driver, CopyWay way) { return driver.copy_all(way, copies_, StreamId(0x770)); }

  std::array<char, 2> host_{};
  const std::array<HostCopy, 2> copies_ = {{{Address(0x1000), &host_[0], 4_KiB}, {Address(0x9000), &host_[1], 8_KiB}}};
};

TEST_F(CudaCopies, CallsBothFormsWithTheirArguments) {
  for (const bool has_13 : {true, false}) {
    seen = {};
    ASSERT_TRUE(copy_all(*driver(has_13, true), CopyWay::kIn).is_ok());
    EXPECT_EQ(seen.of_13, has_13 ? 1 : 0) << "the newer one where there are two";
    EXPECT_EQ(seen.of_12_8, has_13 ? 0 : 1);
    EXPECT_EQ(seen.to, (std::vector<CUdeviceptr>{0x1000, 0x9000}));
    EXPECT_EQ(seen.from,
              (std::vector{reinterpret_cast<CUdeviceptr>(&host_[0]), reinterpret_cast<CUdeviceptr>(&host_[1])}));
    EXPECT_EQ(seen.sizes, (std::vector<std::size_t>{4 << 10, 8 << 10}));
    EXPECT_EQ(seen.attributes.srcAccessOrder, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    EXPECT_EQ(seen.attribute_count, 1U);
    EXPECT_EQ(seen.first, 0U);
    EXPECT_EQ(seen.stream, reinterpret_cast<CUstream>(0x770));
  }
}

TEST_F(CudaCopies, OutwardTheHostIsTheTarget) {
  ASSERT_TRUE(copy_all(*driver(true, true), CopyWay::kOut).is_ok());
  EXPECT_EQ(seen.from, (std::vector<CUdeviceptr>{0x1000, 0x9000}));
  EXPECT_EQ(seen.to.front(), reinterpret_cast<CUdeviceptr>(&host_[0]));
}

TEST_F(CudaCopies, WithoutEitherItIsNotSupported) {
  EXPECT_EQ(copy_all(*driver(false, false), CopyWay::kIn).code(), Code::kNotSupported);
}

}  // namespace
}  // namespace tessera
