#include "observe/emitter.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

Emitter sample() {
  Emitter out;
  out.group("first_group");
  out.count("blocks", 12);
  out.bytes("live_bytes", 1536_MiB);
  out.time("stall", Nanoseconds(1'250'000));
  out.group("empty");
  out.group("words");
  out.text("policy", "recency");
  return out;
}

TEST(Emitter, ATableIsAlignedAndLeavesEmptyGroupsOut) {
  EXPECT_EQ(sample().table(),
            "first group\n"
            "  blocks            12\n"
            "  live bytes  1.50 GiB       1610612736\n"
            "  stall time   1.25 ms\n"
            "words\n"
            "  policy       recency\n");
}

TEST(Emitter, JsonKeepsOrderAndExactIntegers) {
  EXPECT_EQ(sample().json(), R"({"first_group":{"blocks":12,"live_bytes":1610612736,"stall_ns":1250000},)"
                             R"("empty":{},"words":{"policy":"recency"}})");
}

TEST(Emitter, WordsOfTheProgramAreEscaped) {
  Emitter out;
  out.group("tags");
  out.bytes("a \"tag\"\n\xff", 1_KiB);
  EXPECT_TRUE(nlohmann::json::accept(out.json()));
}

TEST(Emitter, TimesAreRoundedToAboutThreeDigits) {
  EXPECT_EQ(rounded_time(Nanoseconds(7)), "7 ns");
  EXPECT_EQ(rounded_time(Nanoseconds(42'000)), "42.0 us");
  EXPECT_EQ(rounded_time(Nanoseconds(310'000'000)), "310 ms");
  EXPECT_EQ(rounded_time(Nanoseconds(1'250'000'000)), "1.25 s");
}

}  // namespace
}  // namespace tessera
