#include "base/duration_text.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(DurationText, ReadsWholeNumbersOfEveryUnit) {
  EXPECT_EQ(parse_duration("500ms").value(), Nanoseconds(kSecond / 2));
  EXPECT_EQ(parse_duration("90s").value(), Nanoseconds(90 * kSecond));
  EXPECT_EQ(parse_duration("5m").value(), Nanoseconds(300 * kSecond));
  EXPECT_EQ(parse_duration("2h").value(), Nanoseconds(7200 * kSecond));
}

TEST(DurationText, OffAndZeroAreZero) {
  for (const char* const text : {"off", "0", "0s"}) EXPECT_EQ(parse_duration(text).value(), Nanoseconds()) << text;
}

TEST(DurationText, AnythingElseIsRefused) {
  for (const char* const text : {"", "5", "m", "-5m", "5 m", "5min", "1.5h", "5M", "9000h", "18446744073709551617ms"}) {
    EXPECT_EQ(parse_duration(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(DurationText, PrintsWhatItReads) {
  for (const char* const text : {"off", "1ms", "1500ms", "90s", "5m", "2h", "8784h"}) {
    EXPECT_EQ(duration_text(parse_duration(text).value()), text);
  }
  EXPECT_EQ(duration_text(parse_duration("60s").value()), "1m");
}

}  // namespace
}  // namespace tessera
