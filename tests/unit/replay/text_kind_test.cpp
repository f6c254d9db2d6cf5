#include "lab/replay/text_kind.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::string_literals;

TEST(TextKind, NamesOtherKinds) {
  EXPECT_NE(name_of_other_kind("\x80\x04\x95").find("python -m tessera.snapshot"), std::string::npos);
  EXPECT_NE(name_of_other_kind("BZh91AY").find("bunzip2"), std::string::npos);
  EXPECT_NE(name_of_other_kind("SQLite format 3\0"s).find("SQLite"), std::string::npos);
  EXPECT_NE(name_of_other_kind("\xfd"
                               "7zXZ\0"s)
                .find("xz -d"),
            std::string::npos);
}

TEST(TextKind, AcceptsText) {
  for (const char* text : {"", "{\"t\":\"header\"}", "Thread,Time,Action", "7,15:47:02.0,free,0x1,1,0"}) {
    EXPECT_EQ(name_of_other_kind(text), "") << text;
  }
}

TEST(TextKind, MarksOfByteOrderAreTakenAway) {
  EXPECT_EQ(as_utf8("\xef\xbb\xbfone"), "one");
  EXPECT_EQ(as_utf8("one"), "one");
  EXPECT_EQ(as_utf8("\xff\xfeo\0n\0"s), "on");
  EXPECT_EQ(as_utf8("\xfe\xff\0o\0n"s), "on");
}

TEST(TextKind, CharactersOfSeveralUnitsAreKept) {
  EXPECT_EQ(as_utf8("\xff\xfe\xfc\x00\xac\x20\x3d\xd8\x00\xde"s), "\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(as_utf8("\xff\xfeo\0\x3d\xd8"s), "o") << "half a character at the end";
  EXPECT_EQ(as_utf8("\xff\xfe\x3d\xd8o\0"s), "\xef\xbf\xbdo") << "half a character in the middle";
  EXPECT_EQ(as_utf8("\xff\xfeo\0n"s), "o") << "half a unit";
}

}  // namespace
}  // namespace tessera
