#include "api/misspelt_variables.hpp"

#include <gtest/gtest.h>

#include "api/options.hpp"

namespace tessera {
namespace {

// What is offered in place of the variable, "" if nothing is.
std::string nearest(const char* variable) {
  const char* const environment[] = {variable, nullptr};
  const std::vector<MisspeltVariable> found = misspelt_variables(environment);
  return found.empty() ? "" : found.front().nearest;
}

TEST(MisspeltVariables, TheNearestRightNameIsOffered) {
  EXPECT_EQ(nearest("TESSERA_DEVICE_MEMROY"), "TESSERA_DEVICE_MEMORY");
  EXPECT_EQ(nearest("TESSERA_DEVICEMEMORY"), "TESSERA_DEVICE_MEMORY");
  EXPECT_EQ(nearest("TESSERA_DEVICE_MEM"), "TESSERA_DEVICE_MEMORY");
  EXPECT_EQ(nearest("TESSERA_HOSTMEMORY"), "TESSERA_HOST_MEMORY");
  EXPECT_EQ(nearest("TESSERA_POLCY"), "TESSERA_POLICY");
  EXPECT_EQ(nearest("TESSERA_STAT"), "TESSERA_STATS");
  EXPECT_EQ(nearest("TESSERA_FILEDIR"), "TESSERA_FILE_DIR");
}

TEST(MisspeltVariables, CorrectAndForeignNamesAreIgnored) {
  for (const OptionEntry& entry : option_table()) EXPECT_EQ(nearest(environment_name(entry).c_str()), "") << entry.name;
  for (const char* other : {"TESSERA_SOFTWARE_MEMORY", "TESSERA_FILE_WRITE", "TESSERA_HOME", "TESSERA_", "TESSERA",
                            "PATH", "TESSERACT_POLICY", "TESSERA_SEED"}) {
    EXPECT_EQ(nearest(other), "") << other;
  }
}

TEST(MisspeltVariables, AnEnvironmentMayHaveLinesWithoutAValueAndBeNone) {
  EXPECT_TRUE(misspelt_variables(nullptr).empty());
  const char* const lines[] = {"TESSERA_POLCY", "TESSERA_GRACE=3", "TESSERA_GRAEC=3=4", nullptr};
  const std::vector<MisspeltVariable> found = misspelt_variables(lines);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "TESSERA_POLCY");
  EXPECT_EQ(found[1].name, "TESSERA_GRAEC");
  EXPECT_EQ(found[1].nearest, "TESSERA_GRACE");
}

TEST(MisspeltVariables, EnvironmentOptionsReportThem) {
  ::setenv("TESSERA_POLCY", "lru", 1);
  const Result<Options> options = Options::from_environment();
  ::unsetenv("TESSERA_POLCY");
  ASSERT_TRUE(options.is_ok());
  ASSERT_EQ(options.value().misspelt.size(), 1u);
  EXPECT_EQ(options.value().misspelt[0].nearest, "TESSERA_POLICY");
  EXPECT_EQ(options.value().policy, "auto");
}

}  // namespace
}  // namespace tessera
