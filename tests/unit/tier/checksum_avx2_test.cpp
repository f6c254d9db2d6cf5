#include <gtest/gtest.h>

#include <vector>

#include "tier/checksum.hpp"

namespace tessera {
namespace {

#if defined(__x86_64__)
bool can_run() { return __builtin_cpu_supports("avx2") != 0; }
#else
bool can_run() { return true; }
#endif

TEST(WideChecksum, IsTheSameAsTheNarrowOne) {
  if (!can_run()) GTEST_SKIP() << "this processor has no AVX2";
  for (const std::size_t bytes : {0U, 1U, 16U, 200U, 4096U, 65536U, 1U << 21}) {
    std::vector<unsigned char> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 131 + i / 251);
    EXPECT_EQ(narrow_checksum(data.data(), bytes), wide_checksum(data.data(), bytes)) << bytes;
  }
}

}  // namespace
}  // namespace tessera
