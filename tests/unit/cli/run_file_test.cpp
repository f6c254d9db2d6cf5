#include "run_file.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "sample_history.hpp"

namespace {

using ::testing::HasSubstr;

std::string written(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "run_file_" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(RunFile, AHistoryHasItsSlots) {
  RunFile file;
  const std::string path = written("history.json", sample_history().dump());
  ASSERT_EQ(read_run_file(path, file), "");
  EXPECT_EQ(file.name, path);
  EXPECT_TRUE(file.has_history);
  EXPECT_EQ(file.run.slots(), 4U);
}

TEST(RunFile, StatisticsAreARunWithoutSlots) {
  RunFile file;
  ASSERT_EQ(read_run_file(written("stats.json", sample_history()["stats"].dump()), file), "");
  EXPECT_FALSE(file.has_history);
  EXPECT_EQ(file.run.slots(), 0U);
  EXPECT_EQ(file.run.figure("moves", "bytes_in"), 2U << 20);
}

TEST(RunFile, TheReasonIsNamedWhereThereIsNeither) {
  RunFile file;
  EXPECT_THAT(read_run_file("/no/such/file", file), HasSubstr("cannot read /no/such/file"));
  EXPECT_THAT(read_run_file(::testing::TempDir(), file), HasSubstr("cannot read"));
  EXPECT_THAT(read_run_file(written("empty", ""), file), HasSubstr("empty: no process of the run"));
  EXPECT_THAT(read_run_file(written("trace.json", R"({"traceEvents": []})"), file), HasSubstr("--history"));
  EXPECT_THAT(read_run_file(written("table.txt", "tessera\n  version 1\n"), file), HasSubstr("must end in .json"));
  EXPECT_THAT(read_run_file(written("odd.json", R"({"tessera": 1})"), file), HasSubstr("actual type is number"));
}

}  // namespace
