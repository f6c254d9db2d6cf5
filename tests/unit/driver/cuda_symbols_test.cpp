#include "driver/cuda_symbols.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

int something = 0;

TEST(CudaSymbols, LooksUpTheNamesOfTheBinaryInterface) {
  bool asked_for_current = false;
  bool asked_for_old = false;
  const auto found = CudaSymbols::find([&](const char* name) -> void* {
    asked_for_current = asked_for_current || std::string(name) == "cuMemcpyHtoDAsync_v2";
    asked_for_old = asked_for_old || std::string(name) == "cuMemcpyHtoDAsync";
    return &something;
  });
  ASSERT_TRUE(found.is_ok());
  EXPECT_TRUE(asked_for_current);
  EXPECT_FALSE(asked_for_old);
  EXPECT_TRUE(found.value().virtual_memory());
}

TEST(CudaSymbols, NamesARequiredSymbolThatIsMissing) {
  const auto found = CudaSymbols::find(
      [](const char* name) -> void* { return std::string(name) == "cuEventQuery" ? nullptr : &something; });
  ASSERT_FALSE(found.is_ok());
  EXPECT_EQ(found.status().code(), Code::kNotSupported);
  EXPECT_NE(found.status().message().find("cuEventQuery"), std::string_view::npos);
}

TEST(CudaSymbols, ContinuesWithoutVirtualMemory) {
  const auto found = CudaSymbols::find(
      [](const char* name) -> void* { return std::string(name) == "cuMemMap" ? nullptr : &something; });
  ASSERT_TRUE(found.is_ok());
  EXPECT_FALSE(found.value().virtual_memory());
}

}  // namespace
}  // namespace tessera
