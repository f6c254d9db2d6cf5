#include "planning/run_class.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(RunClass, TheWordsOfTheTraceGeneratorsNameClasses) {
  EXPECT_EQ(class_of_word("weight"), RunClass::kWeight);
  EXPECT_EQ(class_of_word("optimizer"), RunClass::kOptimizer);
  EXPECT_EQ(class_of_word("weight-gradient"), RunClass::kGradient);
  EXPECT_EQ(class_of_word("feature-map"), RunClass::kActivation);
  EXPECT_EQ(class_of_word("input"), RunClass::kInput);
  EXPECT_EQ(class_of_word("kv"), RunClass::kKvCache);
}

TEST(RunClass, OtherWordsNameNone) {
  EXPECT_EQ(class_of_word(""), RunClass::kUnknown);
  EXPECT_EQ(class_of_word("weigh"), RunClass::kUnknown);
}

}  // namespace
}  // namespace tessera
