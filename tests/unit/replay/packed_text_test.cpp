#include "lab/replay/packed_text.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace std::string_literals;

// `printf 'one\ntwo\n' | zstd --no-check` and `| gzip -n`.
const std::string kZstd = "\x28\xb5\x2f\xfd\x20\x08\x41\x00\x00one\ntwo\n"s;
const std::string kGzip =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\xcf\x4b\xe5\x2a\x29\xcf\xe7\x02\x00\xe6\x0b\xba\x12\x08\x00\x00\x00"s;

class PackedText : public ::testing::TestWithParam<std::pair<std::string, Packing>> {
 protected:
  const std::string& packed() const { return GetParam().first; }
  Packing packing() const { return GetParam().second; }
  Result<UnpackedText> unpacked(std::string_view data) const { return unpack(data, packing()); }
  bool is_here() const { return unpacked(packed()).status().code() != Code::kNotSupported; }
};

TEST_P(PackedText, IsDistinguishedFromPlainText) {
  EXPECT_EQ(packing_of(packed()), packing());
  for (const char* plain : {"", "{}", "Thread,Time"}) EXPECT_EQ(packing_of(plain), Packing::kNone);
}

TEST_P(PackedText, IsUnpacked) {
  if (!is_here()) GTEST_SKIP() << "not in this build";
  const auto text = unpacked(packed());
  ASSERT_TRUE(text.is_ok()) << text.status().to_string();
  EXPECT_EQ(text.value().text, "one\ntwo\n");
  EXPECT_FALSE(text.value().cut);
}

TEST_P(PackedText, FilesThatWereJoinedAreOne) {
  if (!is_here()) GTEST_SKIP() << "not in this build";
  const auto text = unpacked(packed() + packed());
  ASSERT_TRUE(text.is_ok()) << text.status().to_string();
  EXPECT_EQ(text.value().text, "one\ntwo\none\ntwo\n");
  EXPECT_FALSE(text.value().cut);
}

TEST_P(PackedText, ATruncatedFileGivesItsBeginning) {
  if (!is_here()) GTEST_SKIP() << "not in this build";
  for (std::size_t bytes = 4; bytes < packed().size(); ++bytes) {
    const auto text = unpacked(packed().substr(0, bytes));
    ASSERT_TRUE(text.is_ok()) << bytes << ": " << text.status().to_string();
    EXPECT_TRUE(text.value().cut) << bytes;
    EXPECT_TRUE(std::string_view("one\ntwo\n").starts_with(text.value().text)) << text.value().text;
  }
}

TEST_P(PackedText, DamageIsAnError) {
  if (!is_here()) GTEST_SKIP() << "not in this build";
  std::string broken = packed();
  broken[packing() == Packing::kGzip ? 2 : 5] = '\x7f';
  broken[packing() == Packing::kGzip ? 11 : 7] = '\x7f';
  EXPECT_EQ(unpacked(broken).status().code(), Code::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Packings, PackedText,
                         ::testing::Values(std::pair(kZstd, Packing::kZstd), std::pair(kGzip, Packing::kGzip)),
                         [](const auto& tested) { return tested.param.second == Packing::kZstd ? "Zstd" : "Gzip"; });

}  // namespace
}  // namespace tessera
