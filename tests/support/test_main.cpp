// The main of every test program: a temporary folder of its own, which is gone afterwards.
//
// Why: ctest runs each test in a process of its own, several side by side, and other builds may do so too. With
// one folder for all, tests of one fixture write each other's files.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>

#include <gmock/gmock.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const char* const given = std::getenv("TEST_TMPDIR");  // of the parent, where a death test starts the program again
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
