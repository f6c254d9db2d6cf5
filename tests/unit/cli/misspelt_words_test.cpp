#include "misspelt_words.hpp"

#include <gtest/gtest.h>

#include "command_line.hpp"

namespace {

class MisspeltWords : public ::testing::Test {
 protected:
  // The complaint about what is left over.
  std::string complaint(std::vector<std::string> words) {
    std::ranges::reverse(words);
    EXPECT_THROW(app_.parse(std::move(words)), CLI::ExtrasError);
    return wrong_words(app_);
  }

  CLI::App app_{"", "tessera"};
  CommandLine commands_{app_};
};

TEST_F(MisspeltWords, ACommand) {
  EXPECT_EQ(wrong_command(app_, {"runn", "--", "true"}),
            "unknown command 'runn'; did you mean run? `tessera --help` lists them");
  EXPECT_EQ(wrong_command(app_, {"training"}), "unknown command 'training'; `tessera --help` lists them");
  EXPECT_EQ(wrong_command(app_, {"run"}), "");
  EXPECT_EQ(wrong_command(app_, {"--version"}), "");
  EXPECT_EQ(wrong_command(app_, {}), "");
}

TEST_F(MisspeltWords, AnOption) {
  EXPECT_EQ(complaint({"run", "--device-memmory", "3GiB"}),
            "unknown option '--device-memmory'; did you mean --device-memory? `tessera run --help` lists them");
  EXPECT_EQ(complaint({"run", "--device-mem=3GiB"}),
            "unknown option '--device-mem'; did you mean --device-memory? `tessera run --help` lists them");
  EXPECT_EQ(complaint({"run", "-stats", "-"}),
            "unknown option '-stats'; did you mean --stats? `tessera run --help` lists them");
  EXPECT_EQ(complaint({"demo", "--gpus=2"}), "unknown option '--gpus'; `tessera demo --help` lists them");
  EXPECT_EQ(complaint({"plan", "split", "--oops", "4"}),
            "unknown option '--oops'; `tessera plan split --help` lists them");
}

TEST_F(MisspeltWords, AnArgumentTooMany) {
  EXPECT_EQ(complaint({"doctor", "now"}), "'now' is one argument too many; `tessera doctor --help` says what it takes");
}

}  // namespace
