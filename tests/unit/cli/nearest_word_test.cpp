#include "nearest_word.hpp"

#include <gtest/gtest.h>

namespace {

const std::vector<std::string> kWords = {"run", "report", "--device-memory", "--host-memory", "--stats"};

TEST(NearestWord, FewLettersDiffer) {
  EXPECT_EQ(nearest_word("runn", kWords), "run");
  EXPECT_EQ(nearest_word("--device-memmory", kWords), "--device-memory");
  EXPECT_EQ(nearest_word("--devicememroy", kWords), "--device-memory");
  EXPECT_EQ(nearest_word("--stat", kWords), "--stats");
}

TEST(NearestWord, OthersAreCloseToNone) {
  EXPECT_EQ(nearest_word("--gpu", kWords), "");
  EXPECT_EQ(nearest_word("python", kWords), "");
  EXPECT_EQ(nearest_word("", {}), "");
}

}  // namespace
