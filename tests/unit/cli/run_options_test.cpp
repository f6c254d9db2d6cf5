#include "run_options.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "child_environment.hpp"
#include "control_client.hpp"

namespace {

using Words = std::vector<std::string>;

TEST(RunOptions, TheProgramBeginsAfterTwoDashesOrAtTheFirstOtherWord) {
  const struct {
    Words all, options, program;
  } cases[] = {
      {{"--", "python", "x.py"}, {}, {"python", "x.py"}},
      {{"python", "x.py"}, {}, {"python", "x.py"}},
      {{"--device-memory", "1GiB", "--", "p"}, {"--device-memory", "1GiB"}, {"p"}},
      {{"--device-memory=1GiB", "p", "-v"}, {"--device-memory=1GiB"}, {"p", "-v"}},
      {{"--software", "p", "--", "q"}, {"--software"}, {"p", "--", "q"}},
      {{"--no-control", "p"}, {"--no-control"}, {"p"}},
      {{"--no-presets", "p"}, {"--no-presets"}, {"p"}},
      {{"--torch", "native", "p"}, {"--torch", "native"}, {"p"}},
      {{"--explain", "p", "q"}, {"--explain"}, {"p", "q"}},
      {{"--", "--odd", "-x"}, {}, {"--odd", "-x"}},
      {{"--", "p", "--stats", "f"}, {}, {"p", "--stats", "f"}},
      {{"--stats", "-", "p"}, {"--stats", "-"}, {"p"}},
      {{"--device-memory"}, {"--device-memory"}, {}},
      {{"--"}, {}, {}},
      {{}, {}, {}},
  };
  for (const auto& one : cases) {
    const SplitLine line = split_at_program(one.all);
    EXPECT_EQ(line.options, one.options);
    EXPECT_EQ(line.program, one.program);
  }
}

TEST(RunOptions, ValuesAreJudgedByTheLibrary) {
  RunOptions options;
  EXPECT_EQ(options.complaint(), "");
  options.set("device-memory", "96MiB");
  options.set("policy", "lru");
  EXPECT_EQ(options.complaint(), "");
  options.set("device-memory", "80%");
  EXPECT_EQ(options.complaint(), "");
  options.set("device-memory", "101%");
  EXPECT_EQ(options.complaint(), "--device-memory: '101%' is not a share; write 1% to 100%");
  options.set("device-memory", "96MiB");
  options.set("host-memory", "lots");
  EXPECT_TRUE(options.complaint().starts_with("--host-memory: 'lots'")) << options.complaint();
}

TEST(RunOptions, PyTorchsAllocatorIsOneOfThree) {
  RunOptions options;
  EXPECT_EQ(options.torch_choice(), TorchChoice::kAuto);
  for (const char* const name : {"auto", "async", "native"}) {
    options.torch = name;
    EXPECT_EQ(options.complaint(), "") << name;
  }
  EXPECT_EQ(options.torch_choice(), TorchChoice::kNative);
  options.torch = "cudaMallocAsync";
  EXPECT_EQ(options.complaint(), "--torch: 'cudaMallocAsync' is not auto, async or native");
}

TEST(RunOptions, OnlyTheLogLevelSilencesMessages) {
  RunOptions options;
  EXPECT_FALSE(options.is_silent());
  options.set("log-level", "info");
  EXPECT_FALSE(options.is_silent());
  options.set("log-level", "error");
  EXPECT_TRUE(options.is_silent());
}

TEST(RunOptions, ValuesThatCannotHoldTogetherAreNamed) {
  RunOptions none;
  none.set("device-memory", "0");
  EXPECT_EQ(none.complaint(), "--device-memory must not be 0");
  RunOptions both;
  both.set("unhinted-access", "host-backed");
  EXPECT_EQ(both.complaint(), "");
  both.set("file-memory", "1GiB");
  EXPECT_TRUE(both.complaint().starts_with("--unhinted-access host-backed")) << both.complaint();
  both.set("file-memory", "0");
  EXPECT_EQ(both.complaint(), "");
}

TEST(RunOptions, TheSoftwareDevicesMemoryIsASizeToo) {
  RunOptions options;
  options.software_memory = "96MiB";
  EXPECT_EQ(options.complaint(), "");
  for (const char* wrong : {"much", "auto", "0"}) {
    options.software_memory = wrong;
    EXPECT_TRUE(options.complaint().starts_with("--software-memory")) << wrong;
  }
}

TEST(RunOptions, ValuesReachTheProgramByItsEnvironment) {
  RunOptions options;
  options.set("device-memory", "96MiB");
  options.set("stats", "-");
  options.set("trace", "here.jsonl");
  ChildEnvironment environment;
  options.explain = true;
  options.apply(environment);
  EXPECT_EQ(environment.get("TESSERA_EXPLAIN"), "1");
  EXPECT_EQ(environment.get("TESSERA_CONTROL_DIR"), control_folders().front());
  options.no_control = true;
  options.apply(environment);
  EXPECT_EQ(environment.get("TESSERA_CONTROL_DIR"), "");
  EXPECT_EQ(environment.get("TESSERA_DEVICE_MEMORY"), "96MiB");
  EXPECT_EQ(environment.get("TESSERA_STATS"), "-");
  EXPECT_EQ(environment.get("TESSERA_TRACE").front(), '/');
  EXPECT_EQ(environment.get("TESSERA_HOST_MEMORY"), "");
}

TEST(RunOptions, EachOfSeveralFoldersIsMadeAbsolute) {
  RunOptions options;
  options.set("file-dir", "here:/tmp::there");
  ChildEnvironment environment;
  options.apply(environment);
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(environment.get("TESSERA_FILE_DIR"), here + "/here:/tmp:" + here + "/there");
}

}  // namespace
