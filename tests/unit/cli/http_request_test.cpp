#include "http_request.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

TEST(HttpRequestText, HasItsParts) {
  const auto request =
      parse_http_request("POST /sleep?level=1&tags=a%20b&tags=c+d HTTP/1.1\r\nHost: x:1\r\nContent-LENGTH:\t12 ");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->method, "POST");
  EXPECT_EQ(request->path(), "/sleep");
  EXPECT_EQ(request->header("host"), "x:1");
  EXPECT_EQ(request->header("none"), "");
  EXPECT_EQ(request->body_bytes(), 12U);
  const std::vector<std::pair<std::string, std::string>> query = {{"level", "1"}, {"tags", "a b"}, {"tags", "c d"}};
  EXPECT_EQ(request->query(), query);
}

TEST(HttpRequestText, AnythingElseIsNone) {
  for (const char* const head :
       {"", "hello", "GET /x", "GET /x HTTP/2", "GET x HTTP/1.1", " /x HTTP/1.1", "GET /a\tb HTTP/1.1",
        "GET / HTTP/1.1\r\nno colon", "GET / HTTP/1.1\r\n: nameless", "GET / HTTP/1.1\r\nbad name: x",
        "GET / HTTP/1.1\r\nHost: a\r\nhost: b", "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2"}) {
    EXPECT_FALSE(parse_http_request(head).has_value()) << head;
  }
}

TEST(HttpRequestText, AnInvalidEscapeIsNoQuery) {
  for (const char* const target : {"/?a=%", "/?a=%4", "/?a=%zz", "/?%4x=1"}) {
    EXPECT_FALSE(parse_http_request(std::string("GET ") + target + " HTTP/1.1")->query().has_value()) << target;
  }
}

TEST(HttpRequestText, ALengthThatIsNoNumberIsRefused) {
  const std::string head = "POST / HTTP/1.1\r\n";
  EXPECT_EQ(parse_http_request("POST / HTTP/1.1")->body_bytes(), 0U);
  for (const char* const line : {"Content-Length: x", "Content-Length: -1", "Content-Length: 1 1",
                                 "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked"}) {
    EXPECT_FALSE(parse_http_request(head + line)->body_bytes().has_value()) << line;
  }
}

TEST(HttpRequestText, AnyBytesAreReadOrRefused) {
  std::mt19937 random(1);
  const std::string valid = "POST /sleep?level=1&tags=%41 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0";
  for (int i = 0; i < 20'000; ++i) {
    std::string head = valid;
    for (auto changes = random() % 8; changes > 0; --changes) {
      head[random() % head.size()] = static_cast<char>(random());
    }
    head.resize(head.size() - random() % head.size());
    const auto request = parse_http_request(head);
    if (!request) continue;
    (void)request->query();
    (void)request->body_bytes();
    EXPECT_TRUE(request->target.starts_with('/'));
  }
}

}  // namespace
