// One HTTP request as its parts, from the text that came over a socket.
//
// Thread safety: values.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct HttpRequest {
  std::string method;   // "GET", "POST"
  std::string target;   // the path with its query, as it was sent
  std::string version;  // "HTTP/1.1"
  // Names in lower case. Of several headers with one name the first counts, except that a request with two "host" or
  // "content-length" headers is none.
  std::map<std::string, std::string> headers;

  std::string path() const { return target.substr(0, target.find('?')); }
  // The names and values of the query, decoded, in their order. Nothing if an escape is invalid.
  std::optional<std::vector<std::pair<std::string, std::string>>> query() const;
  // "" where there is none.
  std::string header(const std::string& name) const;
  // How many bytes follow the head. Nothing if that cannot be told: no number, or sent in chunks.
  std::optional<std::size_t> body_bytes() const;
};

// `head`: the request up to its empty line, which is not included. Nothing if it is not HTTP/1.
std::optional<HttpRequest> parse_http_request(std::string_view head);
