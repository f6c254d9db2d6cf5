#include "http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace {

// With patience for ever, so that nothing here ends because the machine is busy.
class HttpServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(server_.listen("127.0.0.1:0"), "");
    serving_ = std::thread([this] {
      while (!stop_) server_.serve_for(std::chrono::milliseconds(5), &HttpServerTest::answer);
    });
  }
  void TearDown() override {
    stop_ = true;
    serving_.join();
  }

  static HttpAnswer answer(const HttpRequest& request) {
    const std::string path = request.path();
    if (path == "/large") return {.body = std::string(8 << 20, 'x')};
    return path == "/known" ? HttpAnswer{.type = "text/x", .body = "the body"} : HttpAnswer{.status = 404, .body = ""};
  }

  // What a client that sends this gets.
  std::string reply_to(const std::string& request) {
    const int client = connected();
    EXPECT_EQ(::send(client, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    ::shutdown(client, SHUT_WR);
    return rest_of(client);
  }
  static std::string rest_of(int client) {
    std::string reply;
    char piece[4096];
    for (ssize_t got = 0; (got = ::recv(client, piece, sizeof(piece), 0)) > 0;) {
      reply.append(piece, static_cast<std::size_t>(got));
    }
    ::close(client);
    return reply;
  }

  int connected() const { return connected_to(server_); }
  static int connected_to(const HttpServer& server) {
    const std::string place = server.place();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(place.substr(place.rfind(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return client;
  }

  HttpServer server_{std::chrono::hours(1)};
  std::atomic<bool> stop_ = false;
  std::thread serving_;
};

TEST_F(HttpServerTest, AnswersGet) {
  EXPECT_EQ(reply_to("GET /known HTTP/1.1\r\nHost: x\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 8\r\nConnection: close\r\n\r\nthe body");
  EXPECT_EQ(reply_to("GET /other HTTP/1.0\r\n\r\n").substr(0, 22), "HTTP/1.1 404 Not Found");
}

TEST_F(HttpServerTest, WaitsForABodyAndIgnoresIt) {
  EXPECT_EQ(reply_to("POST /known HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").substr(0, 12), "HTTP/1.1 200");
  EXPECT_EQ(reply_to("POST /known HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"), "");
  EXPECT_EQ(reply_to("POST /known HTTP/1.1\r\nContent-Length: 9999\r\n\r\n"), "");
}

TEST_F(HttpServerTest, RefusesEverythingElse) {
  EXPECT_EQ(reply_to("POST /known HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(reply_to("hello\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(reply_to("GET /known\r\n\r\n").substr(0, 12), "HTTP/1.1 400");
  EXPECT_EQ(reply_to("GET /known HTTP/1.1\r\n"), "") << "the request is not complete";
  EXPECT_EQ(reply_to(""), "");
}

TEST_F(HttpServerTest, ARequestHasABound) { EXPECT_EQ(reply_to("GET /" + std::string(20 << 10, 'x')), ""); }

TEST_F(HttpServerTest, SendsALargeBodyWhole) {
  EXPECT_EQ(
      reply_to("GET /large HTTP/1.1\r\n\r\n").size(),
      (8u << 20) + std::string("HTTP/1.1 200 OK\r\nContent-Type: "
                               "text/plain; charset=utf-8\r\nContent-Length: 8388608\r\nConnection: close\r\n\r\n")
                       .size());
}

TEST_F(HttpServerTest, AClientThatSendsNothingDelaysNoOther) {
  const int silent = connected(), half = connected();
  EXPECT_EQ(::send(half, "GET /kno", 8, MSG_NOSIGNAL), 8);
  EXPECT_EQ(reply_to("GET /known HTTP/1.1\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
  const std::string rest = "wn HTTP/1.1\r\n\r\n";
  EXPECT_EQ(::send(half, rest.data(), rest.size(), MSG_NOSIGNAL), static_cast<ssize_t>(rest.size()));
  EXPECT_EQ(rest_of(half).substr(0, 12), "HTTP/1.1 200");
  ::close(silent);
}

TEST_F(HttpServerTest, AClientThatDoesNotReadItsAnswerDelaysNoOther) {
  const int slow = connected();
  const std::string request = "GET /large HTTP/1.1\r\n\r\n";
  EXPECT_EQ(::send(slow, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  EXPECT_EQ(reply_to("GET /known HTTP/1.1\r\n\r\n").substr(0, 12), "HTTP/1.1 200");
  EXPECT_GT(rest_of(slow).size(), 8U << 20);
}

TEST_F(HttpServerTest, ConnectionsHaveABoundAndTheOldestOfThemEnds) {
  constexpr int kMost = 32;
  const int oldest = connected();
  std::vector<int> others;
  for (int i = 0; i < kMost; ++i) others.push_back(connected());
  EXPECT_EQ(rest_of(oldest), "") << "ended by the server";
  const std::string request = "GET /known HTTP/1.1\r\n\r\n";
  EXPECT_EQ(::send(others[0], request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  EXPECT_EQ(rest_of(others[0]).substr(0, 12), "HTTP/1.1 200");
  for (std::size_t i = 1; i < others.size(); ++i) ::close(others[i]);
}

TEST_F(HttpServerTest, PatienceWithAConnectionEnds) {
  HttpServer hasty{std::chrono::milliseconds(10)};
  ASSERT_EQ(hasty.listen("127.0.0.1:0"), "");
  const int client = connected_to(hasty);
  char piece = 0;
  while (::recv(client, &piece, 1, MSG_DONTWAIT) != 0) hasty.serve_for(std::chrono::milliseconds(5), answer);
  ::close(client);
}

TEST(HttpServerPlace, IsALoopbackAddressWithAPort) {
  for (const char* place :
       {"", "9400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "host:1", "[::1:1"}) {
    EXPECT_NE(HttpServer().listen(place).find("not ADDRESS:PORT"), std::string::npos) << place;
  }
  for (const char* place : {"0.0.0.0:0", "10.0.0.1:0", "[::]:0"}) {
    EXPECT_NE(HttpServer().listen(place).find("not a loopback address"), std::string::npos) << place;
  }
  HttpServer one, other, everywhere;
  ASSERT_EQ(one.listen("localhost:0"), "");
  EXPECT_FALSE(one.is_at_every_address());
  EXPECT_EQ(everywhere.listen("0.0.0.0:0", HttpReach::kNetwork), "");
  EXPECT_TRUE(everywhere.is_at_every_address());
  EXPECT_TRUE(one.place().starts_with("127.0.0.1:"));
  EXPECT_TRUE(other.listen(one.place()).ends_with("in use; name another port, or 0 for one that is free"));
}

TEST(HttpServerFile, IsPrivateAndRemovedAtTheEnd) {
  const std::string path = ::testing::TempDir() + "http_server_test.sock";
  ::unlink(path.c_str());
  {
    HttpServer server, other;
    ASSERT_EQ(server.listen_on_file(path), "");
    EXPECT_EQ(server.place(), path);
    struct stat found {};
    ASSERT_EQ(::lstat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U);
    EXPECT_EQ(other.listen_on_file(path), path + ": exists; name another path, or remove it");
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(HttpServerFile, TakesThePlaceOfADeadSocketAndOfNothingElse) {
  const std::string path = ::testing::TempDir() + "http_server_dead.sock";
  ::unlink(path.c_str());
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof(name.sun_path) - 1);
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  ::close(dead);
  EXPECT_EQ(HttpServer().listen_on_file(path), "");
  std::ofstream(path) << "a file";
  EXPECT_EQ(HttpServer().listen_on_file(path), path + ": exists; name another path, or remove it");
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  ::unlink(path.c_str());
  EXPECT_NE(HttpServer().listen_on_file(std::string(200, 'x')), "");
}

}  // namespace
