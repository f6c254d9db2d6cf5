#include "top_web.hpp"

#include <gtest/gtest.h>

namespace {

const std::string kToken = "0123456789abcdef";

HttpAnswer ask_page(const std::string& line, const std::string& host = "localhost:1", const std::string& header = "",
                    bool allow_remote = false) {
  const TopDoor door{
      .token = kToken, .allow_remote = allow_remote, .page = [] { return "page"; }, .view = [] { return "view"; }};
  return answer_top(parse_http_request(line + " HTTP/1.1\r\nHost: " + host + header).value(), door);
}

TEST(TopWeb, ThePageAndItsChangingPartNeedTheToken) {
  EXPECT_EQ(ask_page("GET /?token=" + kToken).body, "page");
  EXPECT_EQ(ask_page("GET /view?token=" + kToken).body, "view");
  EXPECT_EQ(ask_page("GET /view", "localhost", "\r\nAuthorization: Bearer " + kToken).body, "view");
  for (const char* const query : {"", "?token=", "?token=0123456789abcde", "?token=0123456789abcdeg", "?token",
                                  "?Token=0123456789abcdef", "?token=%"}) {
    for (const char* const path : {"/", "/view", "/other"}) {
      EXPECT_EQ(ask_page(std::string("GET ") + path + query).status, 401) << path << query;
    }
  }
  EXPECT_EQ(ask_page("GET /view", "localhost", "\r\nAuthorization: Bearer other").status, 401);
}

TEST(TopWeb, OtherRequestsAreRefused) {
  EXPECT_EQ(ask_page("POST /?token=" + kToken).status, 405);
  EXPECT_EQ(ask_page("HEAD /?token=" + kToken).status, 405);
  EXPECT_EQ(ask_page("GET /favicon.ico?token=" + kToken).status, 404);
}

TEST(TopWeb, TheHostIsThisMachine) {
  for (const char* const host : {"", "example.com", "10.0.0.1:80", "127.0.0.1.example.com"}) {
    EXPECT_EQ(ask_page("GET /?token=" + kToken, host).status, 403) << host;
  }
  EXPECT_EQ(ask_page("GET /?token=" + kToken, "10.0.0.1:80", "", true).status, 200);
  EXPECT_EQ(ask_page("GET /?token=" + kToken, "example.com", "", true).status, 403);
}

TEST(TopWeb, TheAnswerIsNotKeptAndInNoFrame) {
  std::string headers;
  for (const auto& [name, value] : ask_page("GET /?token=" + kToken).headers) headers += name + ": " + value + "\n";
  for (const char* const header : {"Cache-Control: no-store\n", "Referrer-Policy: no-referrer\n",
                                   "X-Content-Type-Options: nosniff\n", "frame-ancestors 'none'"}) {
    EXPECT_NE(headers.find(header), std::string::npos) << header;
  }
}

TEST(TopWeb, AnAddressElsewhereIsTakenOnlyIfAllowed) {
  EXPECT_EQ(top_web({.place = "0.0.0.0:0"}), 2);
  EXPECT_EQ(top_web({.place = "nowhere"}), 2);
}

}  // namespace
