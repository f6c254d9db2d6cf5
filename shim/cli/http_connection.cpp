#include "http_connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>

#include <fmt/core.h>

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostRequest = 8 << 10;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

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

bool is_for_later(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EINTR); }

}  // namespace

HttpConnection::HttpConnection(int socket, milliseconds patience)
    : socket_(socket), patience_(patience), until_(steady_clock::now() + patience) {}

HttpConnection::~HttpConnection() { ::close(socket_); }

short HttpConnection::events() const { return is_answered_ ? POLLOUT : POLLIN; }

milliseconds HttpConnection::left() const {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(until_ - steady_clock::now()));
}

bool HttpConnection::proceed(const HttpHandler& handler) {
  if (is_answered_) return send();
  return receive() && answer_if_whole(handler);
}

bool HttpConnection::receive() {
  char piece[4096];
  const ssize_t got = ::recv(socket_, piece, sizeof(piece), MSG_DONTWAIT);
  if (is_for_later(got)) return true;
  if (got > 0) in_.append(piece, static_cast<std::size_t>(got));
  return got > 0;
}

bool HttpConnection::send() {
  const ssize_t sent = ::send(socket_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (is_for_later(sent)) return true;
  if (sent > 0) sent_ += static_cast<std::size_t>(sent);
  return sent > 0 && sent_ < out_.size();
}

// False where the request cannot become whole.
bool HttpConnection::answer_if_whole(const HttpHandler& handler) {
  if (!request_) {
    const std::size_t end = in_.find(kHeadEnd);
    if (end > kMostRequest) return in_.size() <= kMostRequest;
    request_ = parse_http_request(std::string_view(in_).substr(0, end));
    in_.erase(0, end + kHeadEnd.size());
    const auto body = request_ ? request_->body_bytes() : std::nullopt;
    if (!body) {
      put({.status = 400, .body = "not an HTTP request\n"});
      return send();
    }
    body_bytes_ = *body;
  }
  if (body_bytes_ > kMostRequest) return false;
  if (in_.size() < body_bytes_) return true;  // a client may wait until it has been read
  put(handler(*request_));
  return send();
}

// An answer may take as long as what it asks of a program.
void HttpConnection::put(const HttpAnswer& answer) {
  is_answered_ = true;
  until_ = steady_clock::now() + patience_;
  out_ = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", answer.status,
                     reason(answer.status), answer.type, answer.body.size());
  for (const auto& [name, value] : answer.headers) fmt::format_to(std::back_inserter(out_), "{}: {}\r\n", name, value);
  if (answer.status == 401) out_ += "WWW-Authenticate: Bearer\r\n";
  out_ += "Connection: close\r\n\r\n";
  out_ += answer.body;
}
