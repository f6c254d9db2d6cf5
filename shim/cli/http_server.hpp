// A small HTTP server for loopback addresses and sockets of the same user.
//
// Debian's HTTP libraries for C++ are shared libraries, which an installation at any path must not need, and a page of
// text takes no more than this. It has up to 32 connections, each bounded (http_connection.hpp): a client that is slow,
// or connects ahead of need as browsers do, delays no other. Where there is no room for a new one, the connection that
// has waited longest for its request ends.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "http_connection.hpp"

// From where a port can be reached.
enum class HttpReach { kThisMachine, kNetwork };

class HttpServer {
 public:
  // `patience`: how long a request may take to arrive, and its answer to leave.
  explicit HttpServer(std::chrono::milliseconds patience = std::chrono::seconds(5)) : patience_(patience) {}
  // Removes the socket's file.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens at `place`, as "127.0.0.1:9400" or "[::1]:9400"; port 0 is any free one. Returns what is wrong, or "".
  // For kThisMachine only loopback addresses are accepted.
  std::string listen(const std::string& place, HttpReach reach = HttpReach::kThisMachine);
  // Listens on a socket with mode 0600, which is made there, in place of one on which no process listens. Processes of
  // other users get no answer. Returns what is wrong, or "".
  std::string listen_on_file(const std::string& path);
  // As listen() takes it, with the port in use; the path of a socket.
  std::string place() const;
  // Whether the address is one of all that the machine has, as "0.0.0.0".
  bool is_at_every_address() const;
  // Has requests answered for this time.
  void serve_for(std::chrono::milliseconds time, const HttpHandler& handler);

 private:
  void accept_one();
  void serve_once(std::chrono::milliseconds time, const HttpHandler& handler);

  const std::chrono::milliseconds patience_;
  int socket_ = -1;
  std::string path_;                                          // of a socket
  std::vector<std::unique_ptr<HttpConnection>> connections_;  // oldest first
};
