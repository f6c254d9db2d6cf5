#include "api/size_or_share.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(SizeOrShare, ParsesASizeOrAShareOfTheTotal) {
  EXPECT_EQ(parse_size_or_share("96MiB").value().of(1_GiB), 96_MiB);
  EXPECT_EQ(parse_size_or_share("25%").value().of(1_GiB), 256_MiB);
  EXPECT_EQ(parse_size_or_share("100%").value().of(Bytes(12345)), Bytes(12345));
  EXPECT_EQ(parse_size_or_share("1%").value().of(Bytes(250)), Bytes(2));
}

TEST(SizeOrShare, ItsTextIsReadBackAsTheSame) {
  for (const char* const text : {"1%", "80%", "100%", "96MiB", "1000003", "0"}) {
    EXPECT_EQ(size_or_share_text(parse_size_or_share(text).value()), text);
  }
}

TEST(SizeOrShare, RefusesOtherText) {
  for (const char* const text : {"0%", "101%", "%", "-1%", "1.5%", "50 %", "much"}) {
    EXPECT_EQ(parse_size_or_share(text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace tessera
