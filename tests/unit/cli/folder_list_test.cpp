#include "folder_list.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace {

using Folders = std::vector<std::string>;

TEST(FolderList, HasEachFolderOnItsOwn) {
  EXPECT_EQ(folders_in("/a"), Folders{"/a"});
  EXPECT_EQ(folders_in("/a:b c::/d:"), (Folders{"/a", "b c", "/d"}));
  EXPECT_EQ(folders_in(""), Folders{});
}

TEST(FolderList, ColonsOfNamesAreWrittenWithABackslash) {
  EXPECT_EQ(folders_in(R"(/a\:b:/c)"), (Folders{"/a:b", "/c"}));
  const Folders odd = {"/a:b", R"(/c\d)", "/ü e"};
  EXPECT_EQ(folders_in(folder_list(odd)), odd);
  EXPECT_EQ(folder_list({"/a", "/b"}), "/a:/b");
}

TEST(FolderList, AFolderThatIsThereNeedsNone) {
  const std::string folder = ::testing::TempDir() + "a:b";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(folders_in(folder), Folders{folder});
  std::filesystem::remove(folder);
}

}  // namespace
