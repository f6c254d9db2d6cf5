// The main function of every test program: creates a private temporary folder, and removes it afterwards.
//
// Why: ctest runs each test in its own process, several in parallel, and other builds may do so too. In a shared
// folder, tests of one fixture would overwrite each other's files.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include <gmock/gmock.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  // Programs of tests that run in parallel share no memory, unless a test is about that.
  (void)::setenv("TESSERA_NODE", "off", 0);
  const char* const given = std::getenv("TEST_TMPDIR");  // set by the parent if a death test starts the program again
  const std::filesystem::path above = given != nullptr ? given : std::filesystem::temp_directory_path();
  std::string folder = above / "tessera-test-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr || ::setenv("TEST_TMPDIR", folder.c_str(), 1) != 0) {
    std::cerr << "no temporary folder " << folder << "\n";
    return EXIT_FAILURE;
  }
  const int result = RUN_ALL_TESTS();
  std::error_code left;
  std::filesystem::remove_all(folder, left);
  if (left) std::cerr << "left behind: " << folder << ": " << left.message() << "\n";
  return result;
}
