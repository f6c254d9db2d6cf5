#include "residency/pages/extents.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Code code_of(std::vector<Extent> extents, Bytes block = 100_B) {
  return Extents::of(std::move(extents), block).status().code();
}

TEST(Extents, AnAddressMeansTheExtentThatContainsIt) {
  const auto extents = Extents::of({{60_B, 40_B}, {0_B, 10_B}, {10_B, 20_B}}, 100_B).take();
  EXPECT_EQ(extents.at(0_B), (Extent{0_B, 10_B}));
  EXPECT_EQ(extents.at(9_B), (Extent{0_B, 10_B}));
  EXPECT_EQ(extents.at(10_B), (Extent{10_B, 20_B})) << "extents may touch";
  EXPECT_EQ(extents.at(29_B), (Extent{10_B, 20_B}));
  EXPECT_EQ(extents.at(30_B), std::nullopt);
  EXPECT_EQ(extents.at(59_B), std::nullopt);
  EXPECT_EQ(extents.at(99_B), (Extent{60_B, 40_B}));
  EXPECT_EQ(extents.at(100_B), std::nullopt);
}

TEST(Extents, ThoseThatAreEmptyOutsideOrOverlappingAreRefused) {
  EXPECT_EQ(code_of({{0_B, 0_B}}), Code::kInvalidArgument);
  EXPECT_EQ(code_of({{90_B, 11_B}}), Code::kInvalidArgument);
  EXPECT_EQ(code_of({{101_B, 1_B}}), Code::kInvalidArgument);
  EXPECT_EQ(code_of({{1_B, Bytes(~std::uint64_t{0})}}), Code::kInvalidArgument) << "the end wraps around";
  EXPECT_EQ(code_of({{0_B, 10_B}, {9_B, 5_B}}), Code::kInvalidArgument);
  EXPECT_EQ(code_of({{20_B, 10_B}, {20_B, 10_B}}), Code::kInvalidArgument) << "the same one twice";
  EXPECT_EQ(code_of({{0_B, 100_B}}), Code::kOk);
}

TEST(Extents, ThereIsALimit) {
  std::vector<Extent> many;
  for (std::size_t i = 0; i <= Extents::kMost; ++i) many.push_back({Bytes(i), 1_B});
  EXPECT_EQ(code_of(many, 1_GiB), Code::kInvalidArgument);
  many.pop_back();
  EXPECT_EQ(code_of(many, 1_GiB), Code::kOk);
}

}  // namespace
}  // namespace tessera
