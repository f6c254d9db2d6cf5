#include "linkable_installation.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace {

namespace fs = std::filesystem;

class LinkableInstallationTest : public ::testing::Test {
 protected:
  LinkableInstallationTest() {
    std::string name = ::testing::TempDir() + "linkable.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~LinkableInstallationTest() override { fs::remove_all(folder_); }

  Installation installation_in(const std::string& name) {
    fs::create_directories(folder_ / name / "lib");
    std::ofstream(folder_ / name / "lib" / "libtessera_preload.so") << name;
    return {folder_ / name};
  }
  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    std::string text;
    std::getline(file, text);
    return text;
  }

  fs::path folder_;
};

TEST_F(LinkableInstallationTest, LinksOfInstallationsThatAreGoneAreSwept) {
  const fs::path links = folder_ / "links";
  const LinkableInstallation stays = linkable_installation(installation_in("it stays"), links);
  const LinkableInstallation gone = linkable_installation(installation_in("it goes"), links);
  fs::remove_all(folder_ / "it goes");
  fs::create_directory_symlink(folder_ / "nowhere", links / "of-the-user");
  fs::create_directory_symlink(folder_, links / "at-0.17");  // just made: its process may yet name it
  linkable_installation(installation_in("plain"), links);
  EXPECT_TRUE(fs::is_symlink(stays.installation.root));
  EXPECT_FALSE(fs::is_symlink(gone.installation.root));
  EXPECT_TRUE(fs::is_symlink(links / "of-the-user"));
  EXPECT_TRUE(fs::is_symlink(links / "at-0.17"));
  const timespec past[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (links / "at-0.17").c_str(), past, AT_SYMLINK_NOFOLLOW), 0);
  linkable_installation(installation_in("plain"), links);
  EXPECT_FALSE(fs::is_symlink(links / "at-0.17"));
}

TEST_F(LinkableInstallationTest, AnOrdinaryPathStaysAndNoFolderIsMade) {
  const Installation plain = installation_in("plain-ü");
  const LinkableInstallation found = linkable_installation(plain, folder_ / "links");
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.installation.root, plain.root);
  EXPECT_FALSE(fs::exists(folder_ / "links"));
}

TEST_F(LinkableInstallationTest, APathTheLinkerWouldCutIsReachedThroughALink) {
  for (const char* name : {"with blank", "with:colon", "with;semicolon"}) {
    const LinkableInstallation found = linkable_installation(installation_in(name), folder_ / "links");
    EXPECT_EQ(found.problem, "");
    const std::string library = found.installation.preload_library().string();
    EXPECT_EQ(library.find_first_of(" :;"), std::string::npos) << library;
    EXPECT_EQ(content(library), name);
    EXPECT_EQ(linkable_installation({folder_ / name}, folder_ / "links").installation.root, found.installation.root);
  }
}

TEST_F(LinkableInstallationTest, AStaleLinkIsReplaced) {
  const Installation odd = installation_in("an odd one");
  const fs::path link = linkable_installation(odd, folder_ / "links").installation.root;
  fs::remove(link);
  fs::create_directory_symlink(folder_, link);
  const LinkableInstallation again = linkable_installation(odd, folder_ / "links");
  EXPECT_EQ(again.problem, "");
  EXPECT_EQ(content(again.installation.preload_library()), "an odd one");
}

TEST_F(LinkableInstallationTest, AFolderThatOthersCanWriteToIsRefused) {
  fs::create_directory(folder_ / "links");
  ASSERT_EQ(::chmod((folder_ / "links").c_str(), 0777), 0);
  const LinkableInstallation found = linkable_installation(installation_in("an odd one"), folder_ / "links");
  EXPECT_NE(found.problem.find("only this user can write"), std::string::npos) << found.problem;
}

}  // namespace
