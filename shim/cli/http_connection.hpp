// One connection of an HTTP server: it reads a request, sends the answer, and ends. It never waits.
//
// Everything is bounded: a request has 8 KiB, and so long to arrive as its server has patience; its answer has as long
// to leave. Bodies are read and ignored.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http_request.hpp"

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers{};  // further ones
};

using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

class HttpConnection {
 public:
  // Takes the socket.
  HttpConnection(int socket, std::chrono::milliseconds patience);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  int socket() const { return socket_; }
  // What it waits for, as poll() takes it.
  short events() const;
  bool is_answered() const { return is_answered_; }
  // How long it may go on waiting.
  std::chrono::milliseconds left() const;
  // Reads or sends what can be without waiting, and has a whole request answered. False: it has ended.
  bool proceed(const HttpHandler& handler);

 private:
  bool receive();
  bool send();
  bool answer_if_whole(const HttpHandler& handler);
  void put(const HttpAnswer& answer);

  const int socket_;
  const std::chrono::milliseconds patience_;
  std::string in_;  // received, and not used yet
  std::string out_;
  std::size_t sent_ = 0;                // of it
  std::optional<HttpRequest> request_;  // once its head is there
  std::size_t body_bytes_ = 0;
  bool is_answered_ = false;
  std::chrono::steady_clock::time_point until_;
};
