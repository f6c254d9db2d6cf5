// What a request must have before a port answers it: every user of the machine, and every web page in one of its
// browsers, can send one.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <string_view>

#include "http_request.hpp"

// Whether the Host header, without its port, is a loopback address or "localhost", and not a name that a page's server
// has pointed here. Any port: a tunnel may have another one.
bool is_this_machine(const std::string& host);
// Whether it is a number, or the name of this machine: what clients elsewhere call it, and no server can point here.
bool is_address_or_own_name(const std::string& host);

// Takes the same time wherever they differ. REQUIRES: `b` is not empty.
bool same_secret(std::string_view a, std::string_view b);
// "Authorization: Bearer TOKEN".
bool has_bearer_token(const HttpRequest& request, const std::string& token);
