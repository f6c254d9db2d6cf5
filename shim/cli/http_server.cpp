#include "http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostRequest = 8 << 10;
constexpr milliseconds kLongestRequest{5000};

union Place {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

std::optional<Place> place_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  std::string host = text.substr(0, colon);
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + colon + 1, end, port);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  if (host == "localhost") host = "127.0.0.1";
  Place place{};
  if (host.starts_with('[') && host.ends_with(']')) {
    place.v6.sin6_family = AF_INET6;
    place.v6.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &place.v6.sin6_addr) != 1) return std::nullopt;
    return place;
  }
  place.v4.sin_family = AF_INET;
  place.v4.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &place.v4.sin_addr) != 1) return std::nullopt;
  return place;
}

bool is_loopback(const Place& place) {
  if (place.any.sa_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&place.v6.sin6_addr) != 0;
  return ntohl(place.v4.sin_addr.s_addr) >> 24 == 127;
}

class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}
  ~Connection() {
    if (socket_ >= 0) ::close(socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The first line of the request; none where it does not come in time, or is too long.
  std::optional<std::string> read_request() {
    std::string request;
    while (request.find("\r\n\r\n") == std::string::npos) {
      char piece[1024];
      if (request.size() > kMostRequest || !is_ready(POLLIN)) return std::nullopt;
      const ssize_t got = ::recv(socket_, piece, sizeof(piece), 0);
      if (got <= 0) return std::nullopt;
      request.append(piece, static_cast<std::size_t>(got));
    }
    return request.substr(0, request.find("\r\n"));
  }

  void write(std::string_view text) {
    while (!text.empty() && is_ready(POLLOUT)) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0 && errno != EAGAIN) return;
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

 private:
  bool is_ready(short what) const {
    const auto left = std::chrono::duration_cast<milliseconds>(until_ - steady_clock::now()).count();
    pollfd waited{socket_, what, 0};
    return left > 0 && ::poll(&waited, 1, static_cast<int>(left)) == 1;
  }

  const int socket_;
  const steady_clock::time_point until_ = steady_clock::now() + kLongestRequest;
};

HttpAnswer answer_to(const std::string& line, const std::function<HttpAnswer(const std::string&)>& answer) {
  constexpr std::string_view kGet = "GET ";
  const std::size_t end = line.rfind(" HTTP/1.");
  if (end == std::string::npos || end < kGet.size()) return {.status = 400, .body = "not an HTTP request\n"};
  if (!line.starts_with(kGet)) return {.status = 405, .body = "only GET is answered\n"};
  return answer(line.substr(kGet.size(), end - kGet.size()));
}

const char* reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    default: return "Error";
  }
}

}  // namespace

HttpServer::~HttpServer() {
  if (socket_ >= 0) ::close(socket_);
}

std::string HttpServer::listen(const std::string& place) {
  const auto wanted = place_of(place);
  if (!wanted) return fmt::format("{}: not ADDRESS:PORT", place);
  if (!is_loopback(*wanted)) return fmt::format("{}: not a loopback address", place);
  socket_ = ::socket(wanted->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const socklen_t size = wanted->any.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  // A server that was restarted gets its port at once.
  const bool listens = socket_ >= 0 && ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                       ::bind(socket_, &wanted->any, size) == 0 && ::listen(socket_, SOMAXCONN) == 0;
  return listens ? "" : fmt::format("{}: {}", place, std::strerror(errno));
}

std::string HttpServer::place() const {
  Place place{};
  socklen_t size = sizeof(place);
  if (::getsockname(socket_, &place.any, &size) != 0) return "";
  char text[INET6_ADDRSTRLEN] = {};
  if (place.any.sa_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &place.v6.sin6_addr, text, sizeof(text));
    return fmt::format("[{}]:{}", text, ntohs(place.v6.sin6_port));
  }
  ::inet_ntop(AF_INET, &place.v4.sin_addr, text, sizeof(text));
  return fmt::format("{}:{}", text, ntohs(place.v4.sin_port));
}

void HttpServer::serve_one(const std::function<HttpAnswer(const std::string&)>& answer) {
  const int accepted = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) return;
  Connection connection(accepted);
  const auto line = connection.read_request();
  if (!line) return;
  const HttpAnswer given = answer_to(*line, answer);
  connection.write(fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                               given.status, reason(given.status), given.type, given.body.size()));
  connection.write(given.body);
}
