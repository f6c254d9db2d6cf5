#include "run_command.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace {

namespace fs = std::filesystem;

// An installation of empty files.
Installation make_installation(const std::string& name) {
  const fs::path root = fs::path(::testing::TempDir()) / name;
  fs::create_directories(root / "lib" / "softcuda");
  const Installation installation{root};
  std::ofstream(installation.preload_library()) << "";
  std::ofstream(installation.software_driver()) << "";
  return installation;
}

TEST(RunCommand, ThePreloadLibraryComesAfterTheUsers) {
  const Installation installation = make_installation("run_command_first");
  ChildEnvironment environment;
  environment.set("LD_PRELOAD", "/theirs.so");
  environment.remove("ASAN_OPTIONS");
  EXPECT_EQ(prepare(installation, RunOptions(), environment), "");
  EXPECT_EQ(environment.get("LD_PRELOAD"), "/theirs.so:" + installation.preload_library().string());
  EXPECT_EQ(environment.get("ASAN_OPTIONS"), "") << "theirs may be what the sanitizer minds";
}

TEST(RunCommand, OnlySoftwareChangesWhereLibrariesAreFound) {
  const Installation installation = make_installation("run_command_software");
  ChildEnvironment environment;
  environment.remove("LD_LIBRARY_PATH");
  RunOptions options;
  EXPECT_EQ(prepare(installation, options, environment), "");
  EXPECT_EQ(environment.get("LD_LIBRARY_PATH"), "");
  options.software = true;
  EXPECT_EQ(prepare(installation, options, environment), "");
  EXPECT_EQ(environment.get("LD_LIBRARY_PATH"), installation.software_folder().string());
}

TEST(RunCommand, AFolderThatCannotBePreloadedFromIsNamed) {
  for (const char* name : {"run command blank", "run:command"}) {
    ChildEnvironment environment;
    const std::string problem = prepare(make_installation(name), RunOptions(), environment);
    EXPECT_NE(problem.find("cannot be preloaded"), std::string::npos) << problem;
  }
}

TEST(RunCommand, NamesAMissingLibrary) {
  ChildEnvironment environment;
  const std::string problem = prepare({"/no/such/folder"}, RunOptions(), environment);
  EXPECT_EQ(
      problem,
      "/no/such/folder/lib/libtessera_preload.so is missing: the installation is incomplete; install Tessera again");
}

}  // namespace
