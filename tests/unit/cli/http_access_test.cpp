#include "http_access.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

namespace {

TEST(HttpAccess, LoopbackAddressesAreThisMachine) {
  for (const char* const host : {"localhost", "127.0.0.1:80", "127.1.2.3", "[::1]:8000", "[::1]"}) {
    EXPECT_TRUE(is_this_machine(host)) << host;
    EXPECT_TRUE(is_address_or_own_name(host)) << host;
  }
  for (const char* const host :
       {"", "example.com", "127.0.0.1.example.com", "localhost.example.com:80", "[::1", "[::1]x:80"}) {
    EXPECT_FALSE(is_this_machine(host)) << host;
    EXPECT_FALSE(is_address_or_own_name(host)) << host;
  }
}

TEST(HttpAccess, ElsewhereItIsANumberOrItsOwnName) {
  char own[256] = {};
  ASSERT_EQ(::gethostname(own, sizeof(own) - 1), 0);
  for (const std::string& host : {std::string("10.1.2.3:80"), std::string("[fe80::1]:80"), std::string(own) + ":80"}) {
    EXPECT_TRUE(is_address_or_own_name(host)) << host;
    EXPECT_TRUE(!is_this_machine(host) || host.starts_with("localhost")) << host;
  }
  for (const char* const host : {"10.1.2:80", "10.1.2.3.example.com", "[fe80::g]"}) {
    EXPECT_FALSE(is_address_or_own_name(host)) << host;
  }
}

TEST(HttpAccess, OnlyTheSameSecretIsTheSame) {
  EXPECT_TRUE(same_secret("0123456789abcdef", "0123456789abcdef"));
  for (const char* const other : {"", "0", "0123456789abcde", "0123456789abcdeg", "0123456789abcdef0",
                                  "0123456789abcdef0123456789abcdef", "1123456789abcdef"}) {
    EXPECT_FALSE(same_secret(other, "0123456789abcdef")) << other;
  }
}

TEST(HttpAccess, ABearerTokenIsNamedAsOne) {
  const auto has = [](const std::string& value) {
    return has_bearer_token(parse_http_request("GET / HTTP/1.1\r\nAuthorization: " + value).value(), "the token");
  };
  EXPECT_TRUE(has("Bearer the token"));
  for (const char* const value : {"the token", "Bearer", "Bearer the tokem", "Basic the token"}) {
    EXPECT_FALSE(has(value)) << value;
  }
}

}  // namespace
