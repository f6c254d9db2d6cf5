#include "http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/core.h>

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostConnections = 32;

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
    if (!S_ISSOCK(found.st_mode) || is_in_use(name))
      return fmt::format("{}: exists; name another path, or remove it", path);
    ::unlink(path.c_str());
  }
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool bound = socket_ >= 0 && ::bind(socket_, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0;
  if (bound) path_ = path;
  const bool listens = bound && ::chmod(path.c_str(), 0600) == 0 && ::listen(socket_, SOMAXCONN) == 0;
  return listens ? "" : fmt::format("{}: {}", path, std::strerror(errno));
}

std::string HttpServer::listen(const std::string& place, HttpReach reach) {
  const auto wanted = place_of(place);
  if (!wanted) return fmt::format("{}: not ADDRESS:PORT, such as 127.0.0.1:9400", place);
  if (reach == HttpReach::kThisMachine && !is_loopback(*wanted))
    return fmt::format("{}: not a loopback address, such as 127.0.0.1", place);
  socket_ = ::socket(wanted->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  const socklen_t size = wanted->any.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  // A server that was restarted gets its port at once.
  const bool listens = socket_ >= 0 && ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                       ::bind(socket_, &wanted->any, size) == 0 && ::listen(socket_, SOMAXCONN) == 0;
  if (listens) return "";
  return fmt::format("{}: {}{}", place, std::strerror(errno),
                     errno == EADDRINUSE ? "; name another port, or 0 for one that is free" : "");
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

bool HttpServer::is_at_every_address() const {
  Place place{};
  socklen_t size = sizeof(place);
  if (!path_.empty() || ::getsockname(socket_, &place.any, &size) != 0) return false;
  if (place.any.sa_family == AF_INET6) return IN6_IS_ADDR_UNSPECIFIED(&place.v6.sin6_addr) != 0;
  return place.v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

void HttpServer::serve_for(milliseconds time, const HttpHandler& handler) {
  const auto until = steady_clock::now() + time;
  for (auto left = time; left.count() > 0; left = std::chrono::ceil<milliseconds>(until - steady_clock::now())) {
    serve_once(left, handler);
  }
}

void HttpServer::serve_once(milliseconds time, const HttpHandler& handler) {
  std::vector<pollfd> waited = {{socket_, POLLIN, 0}};
  for (const auto& connection : connections_) {
    waited.push_back({connection->socket(), connection->events(), 0});
    time = std::min(time, connection->left());
  }
  if (::poll(waited.data(), waited.size(), static_cast<int>(time.count())) < 0) return;
  // What has arrived is answered even if that took long: the answer of another one may have.
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    const bool is_ready = waited[i + 1].revents != 0;
    const bool goes_on = is_ready ? connections_[i]->proceed(handler) : connections_[i]->left().count() > 0;
    if (!goes_on) connections_[i].reset();
  }
  std::erase(connections_, nullptr);
  if (waited[0].revents != 0) accept_one();
}

void HttpServer::accept_one() {
  const int accepted = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted < 0) return;
  auto connection = std::make_unique<HttpConnection>(accepted, patience_);
  if (!path_.empty() && !is_same_user(accepted)) return;
  if (connections_.size() == kMostConnections) {
    const auto idle = std::ranges::find_if(connections_, [](const auto& each) { return !each->is_answered(); });
    connections_.erase(idle == connections_.end() ? connections_.begin() : idle);
  }
  connections_.push_back(std::move(connection));
}
