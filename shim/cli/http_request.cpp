#include "http_request.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kLineEnd = "\r\n";

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const std::size_t end = text.find_last_not_of(" \t");
  return end == text.npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

bool is_visible(char c) { return c > ' ' && c <= '~'; }

// The text up to `end`, which is removed with it; all of it where there is no such end.
std::string_view cut(std::string_view& text, std::string_view end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return part;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    unsigned value = 0;
    const char* const digits = text.data() + i + 1;
    if (i + 2 >= text.size() || std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) return std::nullopt;
    result += static_cast<char>(value);
    i += 2;
  }
  return result;
}

bool add_header(std::string_view line, std::map<std::string, std::string>& headers) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0 || !std::ranges::all_of(line.substr(0, colon), is_visible)) return false;
  const std::string name = lower(line.substr(0, colon));
  const bool added = headers.emplace(name, trimmed(line.substr(colon + 1))).second;
  return added || (name != "host" && name != "content-length");
}

}  // namespace

std::optional<HttpRequest> parse_http_request(std::string_view head) {
  HttpRequest request;
  std::string_view first = cut(head, kLineEnd);
  request.method = cut(first, " ");
  request.target = cut(first, " ");
  request.version = first;
  const bool known = request.version.starts_with("HTTP/1.") && request.target.starts_with('/');
  if (!known || request.method.empty() || !std::ranges::all_of(request.target, is_visible)) return std::nullopt;
  while (!head.empty()) {
    if (!add_header(cut(head, kLineEnd), request.headers)) return std::nullopt;
  }
  return request;
}

std::optional<Query> HttpRequest::query() const {
  Query query;
  const std::size_t mark = target.find('?');
  std::string_view rest = mark == target.npos ? std::string_view() : std::string_view(target).substr(mark + 1);
  while (!rest.empty()) {
    std::string_view value = cut(rest, "&");
    const auto name = decoded(cut(value, "="));
    const auto decoded_value = decoded(value);
    if (!name || !decoded_value) return std::nullopt;
    query.emplace_back(*name, *decoded_value);
  }
  return query;
}

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::optional<std::size_t> HttpRequest::body_bytes() const {
  if (!header("transfer-encoding").empty()) return std::nullopt;
  const std::string length = header("content-length");
  if (length.empty()) return 0;
  std::size_t bytes = 0;
  const char* const end = length.data() + length.size();
  const auto parsed = std::from_chars(length.data(), end, bytes);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return bytes;
}
