#include "base/nearest_word.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::string_view kWords[] = {"run", "report", "device-memory", "DEVICE_MEMORY", "FILE_WRITE_BUDGET", "stats"};

TEST(NearestWord, AFifthOfTheLettersMayDifferAndOneInAnyCase) {
  EXPECT_EQ(nearest_word("rnu", kWords), "run");
  EXPECT_EQ(nearest_word("runn", kWords), "run");
  EXPECT_EQ(nearest_word("device-memmory", kWords), "device-memory");
  EXPECT_EQ(nearest_word("devicememroy", kWords), "device-memory");
  EXPECT_EQ(nearest_word("DEVICE_MEMROY", kWords), "DEVICE_MEMORY");
  EXPECT_EQ(nearest_word("devicmemroi", kWords), "") << "a fourth of them differs";
}

TEST(NearestWord, AWordThatIsCutOffWithinAWordIsFound) {
  EXPECT_EQ(nearest_word("device-mem", kWords), "device-memory");
  EXPECT_EQ(nearest_word("DEVICE_MEM", kWords), "DEVICE_MEMORY");
  EXPECT_EQ(nearest_word("FILE_WRITE", kWords), "") << "a name of its own";
  EXPECT_EQ(nearest_word("FILE_WRITE_", kWords), "");
  EXPECT_EQ(nearest_word("rep", kWords), "") << "too short to say";
}

TEST(NearestWord, AWordThatIsKnownIsItself) {
  EXPECT_EQ(nearest_word("report", kWords), "report");
  const std::string_view close[] = {"stat", "stats", "state"};
  EXPECT_EQ(nearest_word("stats", close), "stats");
}

TEST(NearestWord, OthersAreCloseToNone) {
  EXPECT_EQ(nearest_word("gpu", kWords), "");
  EXPECT_EQ(nearest_word("python", kWords), "");
  EXPECT_EQ(nearest_word("", kWords), "");
  EXPECT_EQ(nearest_word("run", {}), "");
}

}  // namespace
}  // namespace tessera
