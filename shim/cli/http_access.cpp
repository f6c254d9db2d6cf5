#include "http_access.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace {

std::string without_port(const std::string& host) {
  const bool is_v6 = host.starts_with('[');
  const std::size_t port = is_v6 ? host.find("]:") : host.find(':');
  return host.substr(0, is_v6 && port != host.npos ? port + 1 : port);
}

bool is_address(const std::string& name) {
  in_addr v4{};
  in6_addr v6{};
  const bool in_brackets = name.starts_with('[') && name.ends_with(']');
  return in_brackets ? ::inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &v6) == 1
                     : ::inet_pton(AF_INET, name.c_str(), &v4) == 1;
}

bool is_own_name(const std::string& name) {
  std::array<char, 256> own{};
  if (::gethostname(own.data(), own.size() - 1) != 0 || own[0] == '\0') return false;
  return std::ranges::equal(name, std::string_view(own.data()),
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

}  // namespace

bool is_this_machine(const std::string& host) {
  const std::string name = without_port(host);
  const auto is_digit_or_dot = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  return name == "localhost" || name == "[::1]" ||
         (name.starts_with("127.") && std::ranges::all_of(name, is_digit_or_dot));
}

bool is_address_or_own_name(const std::string& host) {
  const std::string name = without_port(host);
  return is_this_machine(host) || is_address(name) || is_own_name(name);
}

bool same_secret(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % b.size()]));
  }
  return different == 0;
}

bool has_bearer_token(const HttpRequest& request, const std::string& token) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string given = request.header("authorization");
  return given.starts_with(kScheme) && same_secret(std::string_view(given).substr(kScheme.size()), token);
}
