// `tessera top --web`: the page live_page.hpp describes, served until it is ended.
//
// What it shows, other users and web pages must not see. A request needs the random token that the printed address has,
// and a Host header that is this machine, which that of a name pointed here by others is not.
//
// Thread safety: none.
#pragma once

#include <functional>
#include <string>

#include "http_connection.hpp"

struct TopWebOptions {
  std::string place{};        // ADDRESS:PORT; "": any port of 127.0.0.1
  bool allow_remote = false;  // otherwise only loopback addresses are taken
  double interval = 1;        // seconds between samples
};

// What it takes to answer a request.
struct TopDoor {
  std::string token{};
  bool allow_remote = false;
  std::function<std::string()> page{};
  std::function<std::string()> view{};  // the changing part
};

HttpAnswer answer_top(const HttpRequest& request, const TopDoor& door);
// Prints the address, then serves. Returns the exit code if it cannot.
int top_web(const TopWebOptions& options);
