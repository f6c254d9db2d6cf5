#include "driver/cuda_resolver.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(CudaResolver, ReportsWhyThereIsNoDriver) {
  const auto resolver = open_cuda_library("libno-such-driver.so.1");
  ASSERT_FALSE(resolver.is_ok());
  EXPECT_EQ(resolver.status().code(), Code::kNotSupported);
  EXPECT_NE(resolver.status().message().find("libno-such-driver.so.1"), std::string_view::npos);
}

TEST(CudaResolver, FindsNamesOfTheLibraryAndOnlyThose) {
  const auto resolver = open_cuda_library("libc.so.6");
  ASSERT_TRUE(resolver.is_ok()) << resolver.status().to_string();
  EXPECT_NE(resolver.value()("strlen"), nullptr);
  EXPECT_EQ(resolver.value()("cuNoSuchName"), nullptr);
}

}  // namespace
}  // namespace tessera
