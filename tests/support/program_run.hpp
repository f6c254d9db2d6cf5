// Runs a program of lib/tessera on the software device as a user would, with or without Tessera.
//
// Thread safety: any thread.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace tessera::programs {

struct Outcome {
  int exit_code = -1;
  std::string output;   // standard output
  std::string message;  // standard error
};

using Environment = std::map<std::string, std::string>;

inline std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// A path in the test's own temporary folder; a file left there by an earlier test is removed.
inline std::string scratch(const std::string& name) {
  const ::testing::TestInfo* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string path = ::testing::TempDir() + "/" + test->test_suite_name() + "." + test->name() + "." + name;
  (void)std::remove(path.c_str());
  return path;
}

// Runs `command` in a shell, with lib/tessera as working folder. Exit code 128 + n if it was killed by signal n.
inline Outcome run(const std::string& command, const Environment& environment = {}) {
  const std::string build = TESSERA_TEST_BUILD_DIR;
  const std::string message = scratch("stderr");
  std::string line = "cd '" + build + "/lib/tessera' && env";
  Environment all = environment;
  all.try_emplace("LD_LIBRARY_PATH", build + "/lib/softcuda");
  for (const auto& [name, value] : all) line += " '" + name + "=" + value + "'";
  line += " " + command + " 2> '" + message + "'";
  Outcome outcome;
  FILE* const pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (std::size_t got; (got = ::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    outcome.output.append(buffer, got);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  outcome.message = contents(message);
  return outcome;
}

// The same under the preload library.
inline Outcome run_preloaded(const std::string& command, Environment environment = {}) {
  environment["LD_PRELOAD"] = std::string(TESSERA_TEST_BUILD_DIR) + "/lib/libtessera_preload.so";
  // However slow the machine is, work that ends is waited for; tests of work that does not set a time of their own.
  environment.try_emplace("TESSERA_PATIENCE", "60000");
  return run(command, environment);
}

}  // namespace tessera::programs
