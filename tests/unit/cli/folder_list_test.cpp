#include "folder_list.hpp"

#include <gtest/gtest.h>

namespace {

using Folders = std::vector<std::string>;

TEST(FolderList, HasEachFolderOnItsOwn) {
  EXPECT_EQ(folders_in("/a"), Folders{"/a"});
  EXPECT_EQ(folders_in("/a:b c::/d:"), (Folders{"/a", "b c", "/d"}));
  EXPECT_EQ(folders_in(""), Folders{});
}

}  // namespace
