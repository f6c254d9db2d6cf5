#include "presets.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "child_environment.hpp"

namespace {

constexpr const char* kNew = "PYTORCH_ALLOC_CONF";
constexpr const char* kOld = "PYTORCH_CUDA_ALLOC_CONF";
constexpr const char* kAsync = "backend:cudaMallocAsync";

// Without anything that the rows read, whatever the tests were started with.
ChildEnvironment plain() {
  ChildEnvironment environment;
  for (const Preset& preset : preset_table()) {
    for (const PresetVariable& variable : preset.variables) environment.remove(variable.name);
    for (const PresetConflict& conflict : preset.conflicts) {
      if (conflict.variable != nullptr) environment.remove(conflict.variable);
    }
  }
  for (const TorchNeed& need : torch_needs()) {
    const std::string_view text = need.text;
    if (need.in == TorchNeed::In::kVariable) environment.remove(std::string(text.substr(0, text.find('='))));
  }
  return environment;
}

ChildEnvironment with(const std::string& name, const std::string& value) {
  ChildEnvironment environment = plain();
  environment.set(name, value);
  return environment;
}

struct Applied {
  std::vector<PresetOutcome> outcomes;
  ChildEnvironment environment;
  std::vector<std::string> lines;
};
Applied applied(ChildEnvironment environment, const std::vector<std::string>& program = {"program"},
                TorchChoice torch = TorchChoice::kAuto) {
  std::vector<PresetOutcome> outcomes = choose_presets(environment, program, torch);
  apply_presets(outcomes, environment);
  std::vector<std::string> lines = preset_lines(outcomes);
  return {std::move(outcomes), std::move(environment), std::move(lines)};
}

bool mentions(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(Presets, ListenersAreInTheUsersCache) {
  ChildEnvironment environment = with("XDG_CACHE_HOME", "/cache");
  environment.set("HOME", "/user");
  EXPECT_EQ(torch_listener_folder(environment), "/cache/tessera/torch-listener");
  environment.set("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(torch_listener_folder(environment), "/user/.cache/tessera/torch-listener");
  environment.set("HOME", "");
  environment.remove("XDG_CACHE_HOME");
  EXPECT_EQ(torch_listener_folder(environment), "");
}

TEST(Presets, EveryFrameworkGetsWhatItsRowSaysAndOneLineNamesIt) {
  const Applied run = applied(plain());
  EXPECT_EQ(run.environment.get(kNew), kAsync);
  EXPECT_EQ(run.environment.get(kOld), kAsync);
  EXPECT_EQ(run.environment.get("XLA_PYTHON_CLIENT_ALLOCATOR"), "cuda_async");
  EXPECT_EQ(run.environment.get("XLA_PYTHON_CLIENT_PREALLOCATE"), "false");
  EXPECT_EQ(run.environment.get("TF_GPU_ALLOCATOR"), "cuda_malloc_async");
  ASSERT_EQ(run.lines.size(), 1u);
  for (const Preset& preset : preset_table()) {
    EXPECT_NE(std::string_view(preset.source), "");
    EXPECT_NE(std::string_view(preset.versions), "");
    for (const PresetVariable& variable : preset.variables) {
      EXPECT_TRUE(mentions(run.lines, std::string(variable.name) + "=" + variable.value)) << variable.name;
    }
  }
  EXPECT_TRUE(mentions(run.lines, "--no-presets"));
}

TEST(Presets, AProgramStartedByAnotherRunFindsThemSetAndNothingIsSaid) {
  const Applied first = applied(plain());
  const Applied second = applied(first.environment);
  EXPECT_TRUE(second.lines.empty());
  EXPECT_EQ(second.environment.get(kNew), kAsync);
}

TEST(Presets, WhatTheUserHasDecidedAgainstOneIsLeftAndSaid) {
  for (const char* const name : {kNew, kOld}) {
    const Applied run = applied(with(name, "max_split_size_mb:64, expandable_segments:True"));
    EXPECT_EQ(run.environment.get(name), "max_split_size_mb:64, expandable_segments:True");
    EXPECT_EQ(run.environment.get(name == kNew ? kOld : kNew), "") << "the other name would overrule it";
    ASSERT_EQ(run.lines.size(), 2u);
    EXPECT_NE(run.lines[1].find("expandable_segments:True is left as it is"), std::string::npos) << run.lines[1];
    EXPECT_EQ(run.lines[0].find("PyTorch"), std::string::npos) << run.lines[0];
    EXPECT_EQ(run.environment.get("TF_GPU_ALLOCATOR"), "cuda_malloc_async") << "others are set";
  }
  EXPECT_EQ(applied(with(kOld, "backend:native")).environment.get(kOld), "backend:native");
  EXPECT_TRUE(mentions(applied(with(kOld, "backend:native")).lines, "backend:native is left"));
  EXPECT_EQ(applied(with(kOld, kAsync)).environment.get(kOld), kAsync);
  EXPECT_FALSE(mentions(applied(with(kOld, kAsync)).lines, "PyTorch")) << "it is what the preset would set";
}

TEST(Presets, OtherSettingsOfAListAreKeptAndTheBackendIsAddedUnderBothNames) {
  const Applied run = applied(with(kOld, "garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,>:4]"));
  const std::string both =
      "garbage_collection_threshold:0.8,roundup_power2_divisions:[256:1,>:4],backend:cudaMallocAsync";
  EXPECT_EQ(run.environment.get(kOld), both);
  EXPECT_EQ(run.environment.get(kNew), both) << "versions that read the new name find the user's settings too";
  EXPECT_TRUE(mentions(run.lines, "(added to yours)"));
  EXPECT_EQ(applied(with(kOld, "expandable_segments:False")).environment.get(kOld),
            "expandable_segments:False,backend:cudaMallocAsync");
}

TEST(Presets, EachNameKeepsItsOwnSettings) {
  ChildEnvironment environment = with(kOld, "max_split_size_mb:64");
  environment.set(kNew, "max_split_size_mb:128");
  const Applied run = applied(std::move(environment));
  EXPECT_EQ(run.environment.get(kOld), "max_split_size_mb:64,backend:cudaMallocAsync");
  EXPECT_EQ(run.environment.get(kNew), "max_split_size_mb:128,backend:cudaMallocAsync");
}

TEST(Presets, AnAllocatorOfTheUserKeepsAllOfJaxAsItIs) {
  const Applied run = applied(with("XLA_PYTHON_CLIENT_ALLOCATOR", "platform"));
  EXPECT_EQ(run.environment.get("XLA_PYTHON_CLIENT_ALLOCATOR"), "platform");
  EXPECT_EQ(run.environment.get("XLA_PYTHON_CLIENT_PREALLOCATE"), "");
  EXPECT_TRUE(mentions(run.lines, "JAX: XLA_PYTHON_CLIENT_ALLOCATOR=platform is left as it is"));
  const Applied other = applied(with("XLA_PYTHON_CLIENT_PREALLOCATE", "true"));
  EXPECT_EQ(other.environment.get("XLA_PYTHON_CLIENT_ALLOCATOR"), "cuda_async");
  EXPECT_EQ(other.environment.get("XLA_PYTHON_CLIENT_PREALLOCATE"), "true");
}

TEST(Presets, UnifiedMemoryIsADecisionToo) {
  const Applied run = applied(with("TF_FORCE_UNIFIED_MEMORY", "1"));
  EXPECT_EQ(run.environment.get("XLA_PYTHON_CLIENT_ALLOCATOR"), "");
  EXPECT_EQ(run.environment.get("TF_GPU_ALLOCATOR"), "") << "JAX reads it as well";
  EXPECT_TRUE(mentions(run.lines, "JAX: TF_FORCE_UNIFIED_MEMORY=1 is left as it is"));
  EXPECT_EQ(applied(with("TF_FORCE_UNIFIED_MEMORY", "0")).environment.get("TF_GPU_ALLOCATOR"), "cuda_malloc_async");
}

TEST(Presets, PyTorchKeepsItsOwnAllocatorOnRequest) {
  const Applied run = applied(plain(), {"program"}, TorchChoice::kNative);
  EXPECT_EQ(run.environment.get(kNew), "max_split_size_mb:21");
  EXPECT_EQ(run.environment.get(kOld), "max_split_size_mb:21");
  EXPECT_TRUE(mentions(run.lines, "(--torch native)"));
  EXPECT_EQ(run.environment.get("XLA_PYTHON_CLIENT_ALLOCATOR"), "cuda_async");
  ChildEnvironment users = with(kNew, "max_split_size_mb:256");
  EXPECT_EQ(applied(users, {"program"}, TorchChoice::kNative).environment.get(kNew), "max_split_size_mb:256");
}

TEST(Presets, PyTorchKeepsItsOwnAllocatorWhereTheCommandLineAsksForMoreThanTheBackendDoes) {
  const std::vector<std::string> needs[] = {{"vllm", "serve", "m", "--enable-sleep-mode"},
                                            {"python", "-m", "x", "--enable-memory-saver=true"},
                                            {"python", "t.py", "--compile-mode", "reduce-overhead"},
                                            {"python", "t.py", "--mode=max-autotune"}};
  for (const auto& program : needs) {
    EXPECT_EQ(applied(plain(), program).environment.get(kOld), "max_split_size_mb:21") << program.back();
    EXPECT_EQ(applied(plain(), program, TorchChoice::kAsync).environment.get(kOld), kAsync) << program.back();
  }
  EXPECT_TRUE(mentions(applied(plain(), needs[0]).lines, "(--enable-sleep-mode asks for torch.cuda.MemPool)"));
  EXPECT_EQ(applied(plain(), {"t", "--mode=max-autotune-no-cudagraphs"}).environment.get(kOld), kAsync);
  EXPECT_EQ(applied(with("TORCHINDUCTOR_CUDAGRAPHS", "1")).environment.get(kOld), "max_split_size_mb:21");
  EXPECT_EQ(applied(with("TORCHINDUCTOR_CUDAGRAPHS", "0")).environment.get(kOld), kAsync);
}

TEST(Presets, AScriptIsReadForTheSame) {
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "presets_test.py").string();
  std::ofstream(path) << "model = torch.compile(model, mode='reduce-overhead')\n";
  EXPECT_EQ(applied(plain(), {"python", path}).environment.get(kOld), "max_split_size_mb:21");
  EXPECT_EQ(applied(plain(), {"python", path}, TorchChoice::kAsync).environment.get(kOld), kAsync);
  std::ofstream(path) << "model = torch.compile(model)\n";
  EXPECT_EQ(applied(plain(), {"python", path}).environment.get(kOld), kAsync);
  EXPECT_EQ(applied(plain(), {"python", path + ".missing.py"}).environment.get(kOld), kAsync);
  std::filesystem::remove(path);
}

TEST(Presets, ACompiledProgramMayUseFrameworksIfItLinksOneOrIsGivenAScript) {
  const std::string compiled = "/proc/self/exe";
  EXPECT_FALSE(may_use_frameworks({"./solver", "input.txt"}, compiled, {"libc.so.6", "libcuda.so.1"}));
  EXPECT_TRUE(may_use_frameworks({"./server"}, compiled, {"libc.so.6", "libtorch_cuda.so"}));
  EXPECT_TRUE(may_use_frameworks({"mpirun", "-n", "8", "python3", "train"}, compiled, {"libc.so.6"}));
  EXPECT_TRUE(may_use_frameworks({"bash", "train.sh"}, compiled, {"libc.so.6"}));
  const std::string script = (std::filesystem::path(::testing::TempDir()) / "presets_test_launcher").string();
  std::ofstream(script) << "#!/usr/bin/env some-interpreter\n";
  EXPECT_TRUE(may_use_frameworks({script}, script, {}));
  std::filesystem::remove(script);
}

}  // namespace
