#include "replay/zstd_text.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace tessera {
namespace {

// `printf 'one\ntwo\n' | zstd --no-check`
const std::string kPacked("\x28\xb5\x2f\xfd\x20\x08\x41\x00\x00one\ntwo\n", 17);

TEST(ZstdText, IsToldFromPlainTextAndTheStreamStaysWhereItWas) {
  std::istringstream packed(kPacked), plain("{}"), empty("");
  EXPECT_TRUE(is_zstd(packed));
  EXPECT_EQ(packed.get(), 0x28);
  EXPECT_FALSE(is_zstd(plain));
  EXPECT_EQ(plain.get(), '{');
  EXPECT_FALSE(is_zstd(empty));
}

TEST(ZstdText, IsUnpackedOrRefusedWithTheReason) {
  std::istringstream packed(kPacked);
  const auto text = unpack_zstd(packed, "t");
  if (text.status().code() == Code::kNotSupported) GTEST_SKIP() << text.status().to_string();
  ASSERT_TRUE(text.is_ok()) << text.status().to_string();
  EXPECT_EQ(text.value(), "one\ntwo\n");
  std::istringstream cut(kPacked.substr(0, 12));
  EXPECT_EQ(unpack_zstd(cut, "t").status().message(), "t: the end is missing");
}

}  // namespace
}  // namespace tessera
