#include "base/size_text.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(SizeText, NumbersAndUnitsAreRead) {
  const std::pair<const char*, std::uint64_t> cases[] = {{"0", 0},
                                                         {"1048576", 1048576},
                                                         {"512MiB", 512ull << 20},
                                                         {"4GiB", 4ull << 30},
                                                         {"80GB", 80'000'000'000ull},
                                                         {"1TiB", 1ull << 40},
                                                         {"2 KiB", 2048},
                                                         {"1.5GiB", 3ull << 29},
                                                         {"7b", 7},
                                                         {"3gib", 3ull << 30},
                                                         {"18446744073709551615", ~0ull}};
  for (const auto& [text, bytes] : cases) {
    const auto parsed = parse_size(text);
    ASSERT_TRUE(parsed.is_ok()) << text;
    EXPECT_EQ(parsed.value().value(), bytes) << text;
  }
}

TEST(SizeText, RefusesInvalidSizesWithAnExample) {
  for (const char* text : {"", "MiB", "-1", "12XB", "1.2.3GiB", "1..5MiB", " 5", "4GiBB", "1e9", "18446744073709551616",
                           "99999999TiB", "0x10"}) {
    const auto parsed = parse_size(text);
    ASSERT_FALSE(parsed.is_ok()) << text;
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument) << text;
    EXPECT_NE(parsed.status().message().find("512MiB"), std::string_view::npos);
  }
}

TEST(SizeText, WrittenSizesParseBackExactly) {
  for (const std::uint64_t bytes : {0ull, 1ull, 1023ull, 1024ull, 3ull << 20, (3ull << 20) + 1, 5ull << 40, ~0ull}) {
    const auto parsed = parse_size(size_text(Bytes(bytes)));
    ASSERT_TRUE(parsed.is_ok());
    EXPECT_EQ(parsed.value().value(), bytes);
  }
  EXPECT_EQ(size_text(512_MiB), "512MiB");
  EXPECT_EQ(size_text(1_KiB), "1KiB");
}

TEST(SizeText, RoundedSizesKeepAboutThreeDigits) {
  EXPECT_EQ(rounded_size(Bytes(0)), "0 B");
  EXPECT_EQ(rounded_size(Bytes(1023)), "1023 B");
  EXPECT_EQ(rounded_size(1536_MiB), "1.50 GiB");
  EXPECT_EQ(rounded_size(31_MiB), "31.0 MiB");
  EXPECT_EQ(rounded_size(512_GiB), "512 GiB");
}

}  // namespace
}  // namespace tessera
