// A small HTTP server for loopback addresses and sockets of the same user: it answers requests one after another.
//
// Debian's HTTP libraries for C++ are shared libraries, which an installation at any path must not need, and a page of
// text takes no more than this. Everything is bounded: a request has 8 KiB and 5 seconds. Bodies are read and ignored.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "http_request.hpp"

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  HttpServer() = default;
  // Removes the socket's file.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens at `place`, as "127.0.0.1:9400" or "[::1]:9400"; port 0 is any free one. Returns what is wrong, or "".
  // Only loopback addresses are accepted: what is served is for this machine's users.
  std::string listen(const std::string& place);
  // Listens on a socket with mode 0600, which is made there, in place of one on which no process listens. Processes of
  // other users get no answer. Returns what is wrong, or "".
  std::string listen_on_file(const std::string& path);
  // As listen() takes it, with the port in use; the path of a socket.
  std::string place() const;
  // Waits for a request; false where there is none after `time`.
  bool wait(std::chrono::milliseconds time) const;
  // Answers one request. Returns when it was answered, or gave no request.
  void serve_one(const std::function<HttpAnswer(const HttpRequest&)>& answer);

 private:
  int socket_ = -1;
  std::string path_;  // of a socket
};
