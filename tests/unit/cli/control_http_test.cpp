#include "control_http.hpp"

#include <gtest/gtest.h>

namespace {

// A program that answers every request, behind a port with a token or behind a socket.
class ControlHttp : public ::testing::Test {
 protected:
  ControlDoor door(const std::string& token) {
    return {.token = token,
            .move =
                [this](const std::string& line) {
                  lines_.push_back(line);
                  return reply_;
                },
            .state = [this] { return state_; }};
  }
  HttpAnswer ask(const std::string& line, const std::string& headers = "", const std::string& token = "") {
    return answer_control(parse_http_request(line + " HTTP/1.1" + headers).value(), door(token));
  }
  HttpAnswer ask_port(const std::string& host, const std::string& token) {
    return ask("POST /sleep", "\r\nHost: " + host + (token.empty() ? "" : "\r\nAuthorization: Bearer " + token),
               "the right token");
  }

  ControlReply reply_{4096, 512};
  ProgramState state_{true, ""};
  std::vector<std::string> lines_;
};

TEST_F(ControlHttp, SleepMovesAllOrTheTags) {
  const HttpAnswer all = ask("POST /sleep?level=1");
  EXPECT_EQ(all.status, 200);
  EXPECT_EQ(all.body, "{\"moved_bytes\":4096,\"stayed_bytes\":512}\n");
  EXPECT_EQ(ask("POST /sleep?level=2&mode=wait").status, 200);
  EXPECT_EQ(ask("POST /sleep").status, 200);
  EXPECT_EQ(lines_, std::vector<std::string>({"sleep *", "sleep *", "sleep *"}));
  EXPECT_EQ(ask("POST /wake_up?tags=weights&tags=kv%20cache").body, "{\"moved_bytes\":8192,\"stayed_bytes\":1024}\n");
  EXPECT_EQ(lines_[3], "wake :weights");
  EXPECT_EQ(lines_[4], "wake :kv cache");
}

TEST_F(ControlHttp, TheStateIsAsked) {
  EXPECT_EQ(ask("GET /is_sleeping").body, "{\"is_sleeping\":true}\n");
  state_.asleep = false;
  EXPECT_EQ(ask("GET /is_sleeping").body, "{\"is_sleeping\":false}\n");
  state_.problem = "no such process: 1";
  EXPECT_EQ(ask("GET /is_sleeping").status, 503);
}

TEST_F(ControlHttp, WhatCannotBeAskedIsRefused) {
  for (const char* const line : {"POST /sleep?level=0", "POST /sleep?level=x", "POST /sleep?tags=%0a",
                                 "POST /sleep?tags=%", "POST /wake_up?tags=a234567890123456789012345678901x",
                                 "POST /wake_up?tags=1&tags=2&tags=3&tags=4&tags=5&tags=6&tags=7&tags=8&tags=9"}) {
    EXPECT_EQ(ask(line).status, 400) << line;
  }
  EXPECT_EQ(ask("POST /").status, 404);
  EXPECT_EQ(ask("GET /sleep").status, 405);
  EXPECT_EQ(ask("GET /wake_up").status, 405);
  EXPECT_EQ(ask("POST /is_sleeping").status, 405);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(ControlHttp, ProblemsOfTheProgramArePassedOn) {
  reply_ = {0, 0, "host memory is full"};
  EXPECT_EQ(ask("POST /sleep").status, 500);
  EXPECT_EQ(ask("POST /sleep").body, "{\"error\":\"host memory is full\"}\n");
  reply_ = {0, 0, "no such process: 1", false};
  EXPECT_EQ(ask("POST /sleep").status, 503);
}

TEST_F(ControlHttp, APortNeedsTheToken) {
  EXPECT_EQ(ask_port("localhost:8000", "the right token").status, 200);
  lines_.clear();
  for (const char* const token : {"", "the wrong token", "the right toke", "the right tokens"}) {
    EXPECT_EQ(ask_port("localhost:8000", token).status, 401) << token;
  }
  EXPECT_EQ(ask("GET /is_sleeping", "\r\nHost: localhost", "the right token").status, 401);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(ControlHttp, APortIsForThisMachine) {
  for (const char* const host : {"localhost", "127.0.0.1:80", "127.1.2.3", "[::1]:8000", "[::1]"}) {
    EXPECT_EQ(ask_port(host, "the right token").status, 200) << host;
  }
  for (const char* const host :
       {"", "example.com", "127.0.0.1.example.com", "localhost.example.com:80", "[::2]", "[::1"}) {
    EXPECT_EQ(ask_port(host, "the right token").status, 403) << host;
  }
}

TEST_F(ControlHttp, BrowsersAreRefusedEverywhere) {
  for (const char* const header :
       {"Origin: null", "Origin: http://localhost", "Referer: http://x/", "Sec-Fetch-Site: same-origin"}) {
    EXPECT_EQ(ask("POST /sleep", std::string("\r\n") + header).status, 403) << header;
    EXPECT_EQ(ask("GET /is_sleeping", std::string("\r\n") + header).status, 403) << header;
  }
  EXPECT_TRUE(lines_.empty());
}

}  // namespace
