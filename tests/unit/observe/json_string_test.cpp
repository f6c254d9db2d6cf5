#include "observe/json_string.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

TEST(JsonString, HoldsAnyBytes) {
  EXPECT_EQ(json_string("gemm<float, 4>"), "\"gemm<float, 4>\"");
  EXPECT_EQ(json_string(""), "\"\"");
  for (const char* const text : {"a \"b\"", "back\\slash", "two\nlines", "\x01", "h\xc3\xb6her"}) {
    EXPECT_EQ(nlohmann::json::parse(json_string(text)).get<std::string>(), text);
  }
  EXPECT_EQ(nlohmann::json::parse(json_string("\xff")).get<std::string>(), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace tessera
