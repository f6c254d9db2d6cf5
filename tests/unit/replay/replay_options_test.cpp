#include "lab/replay/replay_options.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ReplayOptions, TakeTheWordsOfTheCommandLine) {
  ReplayOptions options;
  for (const auto& [name, value] : {std::pair{"device-memory", "4GiB"},
                                    {"file-memory", "1TiB"},
                                    {"h2d", "12.5e9"},
                                    {"file-write", "3000000000"},
                                    {"policy", "lru"},
                                    {"iterations", "5"},
                                    {"seed", "42"},
                                    {"mapping-time", "0"},
                                    {"copy-turn", "500"},
                                    {"launch-time", "37000"},
                                    {"lenders", "4"},
                                    {"extents", "off"},
                                    {"handles", "20MiB"},
                                    {"host-frames", "off"},
                                    {"timeline", "t.json"}}) {
    EXPECT_TRUE(options.set(name, value).is_ok()) << name;
  }
  EXPECT_EQ(options.device_memory, 4_GiB);
  EXPECT_EQ(options.file_memory, 1_TiB);
  EXPECT_EQ(options.h2d, 12'500'000'000U);
  EXPECT_EQ(options.file_write, 3'000'000'000U);
  EXPECT_EQ(options.policy, "lru");
  EXPECT_EQ(options.iterations, 5U);
  EXPECT_EQ(options.seed, 42U);
  EXPECT_EQ(options.mapping_time, Nanoseconds(0));
  EXPECT_EQ(options.copy_turn, Nanoseconds(500));
  EXPECT_EQ(options.launch_time, Nanoseconds(37'000));
  EXPECT_EQ(options.lenders, 4U);
  EXPECT_FALSE(options.extents);
  EXPECT_EQ(options.handles, 20_MiB);
  EXPECT_FALSE(options.host_frames);
  EXPECT_EQ(options.timeline, "t.json");
}

TEST(ReplayOptions, RefuseUnknownOnesWithAReason) {
  ReplayOptions options;
  EXPECT_EQ(options.set("colour", "red").code(), Code::kNotFound);
  const Status unknown = options.set("policy", "wishful");
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_TRUE(unknown.message().starts_with("policy: unknown policy 'wishful'; available: ")) << unknown.message();
  EXPECT_EQ(options.set("iterations", "0").code(), Code::kInvalidArgument);
  EXPECT_EQ(options.set("h2d", "fast").message(), "h2d: 'fast' is not a number of bytes per second; write 25e9");
  EXPECT_EQ(options.set("device-memory", "much").code(), Code::kInvalidArgument);
  EXPECT_EQ(options.set("seed", "-1").code(), Code::kInvalidArgument);
  for (const char* const none : {"0", "16", "two"}) {
    EXPECT_EQ(options.set("lenders", none).code(), Code::kInvalidArgument) << none;
  }
}

}  // namespace
}  // namespace tessera
