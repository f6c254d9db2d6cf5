#include "http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
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
constexpr std::string_view kHeadEnd = "\r\n\r\n";

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

  // The request without its body; none where it does not come in time, or is too long.
  std::optional<std::string> read_head() {
    while (text_.find(kHeadEnd) == std::string::npos) {
      if (!read_more()) return std::nullopt;
    }
    const std::size_t end = text_.find(kHeadEnd);
    std::string head = text_.substr(0, end);
    text_.erase(0, end + kHeadEnd.size());
    return head;
  }
  // A client may wait until it has been read. False as read_head().
  bool read_body(std::size_t bytes) {
    while (text_.size() < bytes) {
      if (bytes > kMostRequest || !read_more()) return false;
    }
    return true;
  }

  void write(std::string_view text) {
    while (!text.empty() && is_ready(POLLOUT)) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent <= 0 && errno != EAGAIN) return;
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

 private:
  bool read_more() {
    char piece[1024];
    if (text_.size() > kMostRequest || !is_ready(POLLIN)) return false;
    const ssize_t got = ::recv(socket_, piece, sizeof(piece), 0);
    if (got > 0) text_.append(piece, static_cast<std::size_t>(got));
    return got > 0;
  }
  bool is_ready(short what) const {
    const auto left = std::chrono::duration_cast<milliseconds>(until_ - steady_clock::now()).count();
    pollfd waited{socket_, what, 0};
    return left > 0 && ::poll(&waited, 1, static_cast<int>(left)) == 1;
  }

  const int socket_;
  std::string text_;  // received, and not used yet
  const steady_clock::time_point until_ = steady_clock::now() + kLongestRequest;
};

// None where the request does not arrive whole.
std::optional<HttpAnswer> answer_to(Connection& connection,
                                    const std::function<HttpAnswer(const HttpRequest&)>& answer) {
  const auto head = connection.read_head();
  if (!head) return std::nullopt;
  const auto request = parse_http_request(*head);
  const auto body = request ? request->body_bytes() : std::nullopt;
  if (!body) return HttpAnswer{.status = 400, .body = "not an HTTP request\n"};
  if (!connection.read_body(*body)) return std::nullopt;
  return answer(*request);
}

bool is_same_user(int socket) {
  ucred user{};
  socklen_t size = sizeof(user);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &user, &size) == 0 && user.uid == ::geteuid();
}

// Whether a process listens there.
bool is_in_use(const sockaddr_un& name) {
  const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool dead = client < 0 || (::connect(client, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 &&
                                   errno == ECONNREFUSED);
  if (client >= 0) ::close(client);
  return !dead;
}

const char* reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 503: return "Service Unavailable";
    default: return "Error";
  }
}

}  // namespace

HttpServer::~HttpServer() {
  if (socket_ >= 0) ::close(socket_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

// Nothing can connect before it listens, and by then only its user may.
std::string HttpServer::listen_on_file(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) {
    return fmt::format("{}: the path of a socket has at most {} characters", path, sizeof(name.sun_path) - 1);
  }
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode) || is_in_use(name)) return fmt::format("{}: exists", path);
    ::unlink(path.c_str());
  }
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool bound = socket_ >= 0 && ::bind(socket_, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0;
  if (bound) path_ = path;
  const bool listens = bound && ::chmod(path.c_str(), 0600) == 0 && ::listen(socket_, SOMAXCONN) == 0;
  return listens ? "" : fmt::format("{}: {}", path, std::strerror(errno));
}

bool HttpServer::wait(milliseconds time) const {
  pollfd waited{socket_, POLLIN, 0};
  return ::poll(&waited, 1, static_cast<int>(time.count())) == 1;
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
  if (!path_.empty()) return path_;
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

void HttpServer::serve_one(const std::function<HttpAnswer(const HttpRequest&)>& answer) {
  const int accepted = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) return;
  Connection connection(accepted);
  if (!path_.empty() && !is_same_user(accepted)) return;
  const auto given = answer_to(connection, answer);
  if (!given) return;
  const char* const more = given->status == 401 ? "WWW-Authenticate: Bearer\r\n" : "";
  connection.write(
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n",
                  given->status, reason(given->status), given->type, given->body.size(), more));
  connection.write(given->body);
}
