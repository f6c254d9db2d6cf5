// A small HTTP server for loopback addresses: it answers GET requests one after another.
//
// Debian's HTTP libraries for C++ are shared libraries, which an installation at any path must not need, and a page of
// text takes no more than this. Everything is bounded: a request has 8 KiB and 5 seconds.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  HttpServer() = default;
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens at `place`, as "127.0.0.1:9400" or "[::1]:9400"; port 0 is any free one. Returns what is wrong, or "".
  // Only loopback addresses are accepted: what is served is for this machine's users.
  std::string listen(const std::string& place);
  // As listen() takes it, with the port in use.
  std::string place() const;
  // Answers one request: `answer` gets the path, with its query. Returns when it was answered, or gave no request.
  void serve_one(const std::function<HttpAnswer(const std::string& path)>& answer);

 private:
  int socket_ = -1;
};
