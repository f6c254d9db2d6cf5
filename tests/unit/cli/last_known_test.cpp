#include "last_known.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "last_known_file.hpp"

namespace {

TEST(LastKnownReader, TakesTheNewerOfTwoUpdates) {
  for (const std::uint64_t first : {std::uint64_t{6}, std::uint64_t{7}}) {
    const auto known = last_known_in(LastKnownFile().add(first, "[1]").add(first + 1, "[2]").contents);
    ASSERT_TRUE(known.has_value());
    EXPECT_EQ(known->text, "[2]");
    EXPECT_EQ(known->pid, 4194305);
  }
  const auto single = last_known_in(LastKnownFile().add(1, "[1]").contents);
  ASSERT_TRUE(single.has_value());
  EXPECT_EQ(single->text, "[1]");
}

// After a failure of the machine the disk may have the line without its text, or a part of the text.
TEST(LastKnownReader, PassesOverATextThatIsNotThere) {
  std::string torn = LastKnownFile().add(6, "[1]").add(7, "[22222222]").contents;
  torn.replace(torn.size() - 4, 4, 4, '\0');
  for (const std::string& contents : {torn, torn.substr(0, torn.size() - 4)}) {
    const auto known = last_known_in(contents);
    ASSERT_TRUE(known.has_value());
    EXPECT_EQ(known->text, "[1]");
  }
}

TEST(LastKnownReader, FindsNoneInOtherFiles) {
  for (const std::string& contents : {std::string(), std::string("{}"), std::string(300, '\0'), std::string(300, ' '),
                                      std::string(4096, '\0'), LastKnownFile().add(1, "[1").contents}) {
    EXPECT_FALSE(last_known_in(contents).has_value()) << contents.size();
  }
  std::string line = R"({"tessera_last_known":1,"pid":1,"at":18446744073709551615,"bytes":2})";
  line.resize(8192, ' ');
  EXPECT_FALSE(last_known_in(line).has_value());
}

TEST(LastKnownReader, EveryPrefixIsReadOrRefused) {
  const std::string whole = LastKnownFile().add(1, R"({"a":1})").add(2, R"({"a":2})").contents;
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const auto known = last_known_in(whole.substr(0, bytes));
    EXPECT_EQ(known.has_value(), bytes + 7 >= whole.size()) << bytes;
  }
}

TEST(LastKnownReader, SaysThatAProcessRuns) {
  const std::string path = ::testing::TempDir() + "last_known_reader";
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  EXPECT_EQ(source_of(41, path), "as of the last update of process 41, which was killed");
  EXPECT_EQ(::flock(file, LOCK_EX), 0);
  EXPECT_EQ(source_of(41, path), "as of the last update of process 41, which runs");
  ::close(file);
  ::unlink(path.c_str());
}

}  // namespace
