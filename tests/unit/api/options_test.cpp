#include "api/options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

// An environment variable set for the duration of one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Options, DefaultsAreThoseOfTheTable) {
  const Options options;
  for (const OptionEntry& entry : option_table()) {
    const auto text = options.get(entry.name);
    ASSERT_TRUE(text.is_ok()) << entry.name;
    EXPECT_EQ(text.value(), entry.default_text) << entry.name;
  }
  EXPECT_TRUE(options.validate().is_ok());
}

TEST(Options, EveryDefaultCanBeSetAgain) {
  Options options;
  for (const OptionEntry& entry : option_table()) {
    EXPECT_TRUE(options.set(entry.name, entry.default_text).is_ok()) << entry.name;
  }
}

TEST(Options, NamesAreUniqueAndVariablesFollowFromThem) {
  std::vector<std::string> names;
  for (const OptionEntry& entry : option_table()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), entry.name), 0) << entry.name;
    names.push_back(entry.name);
  }
  EXPECT_EQ(environment_name(option_table().front()), "TESSERA_DEVICE_MEMORY");
}

TEST(Options, SizesAreAcceptedAndAutoResetsThem) {
  Options options;
  ASSERT_TRUE(options.set("host-memory", "96MiB").is_ok());
  EXPECT_EQ(options.host_memory, 96_MiB);
  ASSERT_TRUE(options.set("host-memory", "auto").is_ok());
  EXPECT_FALSE(options.host_memory.has_value());
}

TEST(Options, SharesAreAcceptedAsWritten) {
  Options options;
  ASSERT_TRUE(options.set("device-memory", "80%").is_ok());
  EXPECT_EQ(options.get("device-memory").value(), "80%");
  EXPECT_TRUE(options.validate().is_ok());
  for (const char* const wrong : {"0%", "101%", "%", "-5%", "8.5%", "80 %", "80%%", "99999999999%"}) {
    const Status status = options.set("device-memory", wrong);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << wrong;
    EXPECT_EQ(status.message(), std::string("device-memory: '") + wrong + "' is not a share; write 1% to 100%");
  }
  EXPECT_EQ(options.get("device-memory").value(), "80%");
  EXPECT_FALSE(options.set("heap-size", "80%").is_ok()) << "of what would it be?";
}

TEST(Options, AWrongValueNamesTheOptionAndChangesNothing) {
  Options options;
  ASSERT_TRUE(options.set("device-memory", "1GiB").is_ok());
  ASSERT_TRUE(options.set("low-watermark", "7").is_ok());
  const std::pair<const char*, const char*> wrong[] = {
      {"device-memory", "lots"}, {"low-watermark", "6%"},  {"low-watermark", "-1"},
      {"policy", "magic"},       {"policy", ""},           {"policy", "recency|lru"},
      {"off", "maybe"},          {"log-level", "verbose"}, {"low-watermark", "99999999999"}};
  for (const auto& [name, value] : wrong) {
    const Status status = options.set(name, value);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << name << '=' << value;
    EXPECT_TRUE(status.message().starts_with(name)) << status.message();
  }
  EXPECT_EQ(options.device_memory, 1_GiB);
  EXPECT_EQ(options.low_watermark, 7u);
  EXPECT_EQ(options.policy, "auto");
}

TEST(Options, AnUnknownNameIsNotFound) {
  Options options;
  const Status unknown = options.set("device_memory", "1GiB");
  EXPECT_EQ(unknown.code(), Code::kNotFound);
  EXPECT_EQ(unknown.message(),
            "unknown option 'device_memory'; did you mean device-memory? `tessera run --help` lists them");
  EXPECT_EQ(options.get("nothing").status().code(), Code::kNotFound);
}

TEST(Options, TheEnvironmentOverridesDefaults) {
  const Variable device("TESSERA_DEVICE_MEMORY", "2GiB");
  const Variable policy("TESSERA_POLICY", "lru");
  const Variable off("TESSERA_OFF", "1");
  const Variable empty("TESSERA_HOST_MEMORY", "");
  const auto options = Options::from_environment();
  ASSERT_TRUE(options.is_ok()) << options.status().to_string();
  EXPECT_EQ(options.value().device_memory, 2_GiB);
  EXPECT_EQ(options.value().policy, "lru");
  EXPECT_TRUE(options.value().off);
  EXPECT_FALSE(options.value().host_memory.has_value());
}

TEST(Options, AWrongVariableIsNamed) {
  const Variable device("TESSERA_DEVICE_MEMORY", "much");
  const auto options = Options::from_environment();
  ASSERT_FALSE(options.is_ok());
  EXPECT_TRUE(options.status().message().starts_with("TESSERA_DEVICE_MEMORY"));
}

TEST(Options, WatermarksMustBeInOrderAndLeaveHalfTheDevice) {
  Options options;
  options.low_watermark = 20;
  EXPECT_FALSE(options.validate().is_ok());
  options.high_watermark = 21;
  EXPECT_TRUE(options.validate().is_ok());
  options.high_watermark = 51;
  EXPECT_FALSE(options.validate().is_ok());
}

TEST(Options, NoDeviceMemoryIsRefused) {
  Options options;
  options.device_memory = Bytes(0);
  EXPECT_EQ(options.validate().code(), Code::kInvalidArgument);
}

std::string manual_text() {
  std::ifstream file(std::string(TESSERA_TEST_SOURCE_DIR) + "/docs/tuning.md");
  std::ostringstream manual;
  manual << file.rdbuf();
  return manual.str();
}

TEST(Options, TheManualListsEveryOptionWithItsVariableAndDefault) {
  const std::string manual = manual_text();
  for (const OptionEntry& entry : option_table()) {
    const std::string fallback = *entry.default_text == '\0' ? "none" : entry.default_text;
    const std::string heading = "### `" + std::string(entry.name) + "`";
    const std::string facts = "`" + environment_name(entry) + "` · " + kind_of(entry) +
                              (*entry.choices == '\0' ? "" : " " + std::string(entry.choices)) + " · default " +
                              fallback;
    EXPECT_NE(manual.find(heading + "\n" + facts + "\n"), std::string::npos) << heading << '\n' << facts;
  }
}

// Without line breaks, links in parentheses and quotes.
std::string plain(const std::string& text) {
  static const std::regex link(R"(\s*\(\[[^\]]*\]\([^)]*\)\))"), quote("[`']"), space("\\s+");
  return std::regex_replace(std::regex_replace(std::regex_replace(text, link, ""), quote, ""), space, " ");
}

std::vector<std::string> sentences(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(". ", at), text.size() - 1);
    found.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return found;
}

TEST(Options, TheManualContainsTheSentencesOfEveryOption) {
  const std::string manual = manual_text();
  for (const OptionEntry& entry : option_table()) {
    const std::size_t begin = manual.find("### `" + std::string(entry.name) + "`");
    ASSERT_NE(begin, std::string::npos) << entry.name;
    const std::string section = plain(manual.substr(begin, manual.find("\n##", begin) - begin));
    for (const std::string& sentence : sentences(plain(std::string(entry.help) + ' ' + entry.raising))) {
      EXPECT_NE(section.find(sentence), std::string::npos) << entry.name << ": " << sentence;
    }
  }
}

TEST(Options, LogLevelsAreThoseOfTheLog) {
  Options options;
  const LogLevel levels[] = {LogLevel::kQuiet, LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug};
  std::size_t next = 0;
  for (const char* name : {"quiet", "error", "warning", "info", "debug"}) {
    ASSERT_TRUE(options.set("log-level", name).is_ok());
    EXPECT_EQ(options.level(), levels[next++]);
  }
}

}  // namespace
}  // namespace tessera
