#include "top_web.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "control_token.hpp"
#include "http_access.hpp"
#include "http_server.hpp"
#include "live_history.hpp"
#include "live_page.hpp"
#include "live_sampler.hpp"
#include "node_programs.hpp"
#include "wrong_use.hpp"

namespace {

constexpr const char* kHtml = "text/html; charset=utf-8";

int no_page(int code, const std::string& why) {
  fmt::print(stderr, "tessera: --web: {}\n", why);
  return code;
}

std::string name_of_machine() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// As the page's own address has it, or as its script sends it.
bool has_token(const HttpRequest& request, const std::string& token) {
  if (has_bearer_token(request, token)) return true;
  const auto query = request.query();
  bool has = false;
  for (const auto& [name, value] : query.value_or(std::vector<std::pair<std::string, std::string>>())) {
    has = has || (name == "token" && same_secret(value, token));
  }
  return has;
}

HttpAnswer html_answer(std::string body) {
  return {200,
          kHtml,
          std::move(body),
          {{"Cache-Control", "no-store"},
           {"Referrer-Policy", "no-referrer"},
           {"X-Content-Type-Options", "nosniff"},
           {"Cross-Origin-Resource-Policy", "same-origin"},
           {"Content-Security-Policy", "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"}}};
}

// The programs with what they did since this began to look.
class LiveCollector {
 public:
  explicit LiveCollector(double interval)
      : wanted_(std::chrono::duration<double>(interval) + 2 * kLongestAnswer),
        slot_ns_(static_cast<std::uint64_t>(interval * 1e9)) {}

  void look() {
    view_ = {name_of_machine(), live_now_ns(), {}, share_view_of_environment()};
    drawn_.reset();
    std::vector<TopRow> rows = sampler_.look(wanted_);
    match(view_.shares, rows);
    std::map<Key, LiveHistory> running;
    std::map<int, int> allocators;
    for (TopRow& row : rows) {
      const Key key{row.pid, allocators[row.pid]++};
      const auto known = histories_.find(key);
      LiveHistory history = known == histories_.end() ? LiveHistory(slot_ns_) : std::move(known->second);
      history.add(row);
      view_.programs.push_back({std::move(row), history.picture()});
      running.emplace(key, std::move(history));
    }
    histories_ = std::move(running);
  }
  const LiveView& view() const { return view_; }
  // Drawn once, however many ask.
  const std::string& html() {
    if (!drawn_) drawn_ = live_view_html(view_);
    return *drawn_;
  }

 private:
  using Key = std::pair<int, int>;  // a process, and which of its allocators

  const std::chrono::duration<double> wanted_;
  const std::uint64_t slot_ns_;
  LiveSampler sampler_;
  std::map<Key, LiveHistory> histories_;
  LiveView view_;
  std::optional<std::string> drawn_;
};

}  // namespace

HttpAnswer answer_top(const HttpRequest& request, const TopDoor& door) {
  const std::string host = request.header("host");
  if (!(door.allow_remote ? is_address_or_own_name(host) : is_this_machine(host))) {
    return {.status = 403, .body = "the Host header is not an address of this machine\n"};
  }
  if (!has_token(request, door.token)) {
    return {.status = 401, .body = "the token is missing or wrong: open the address that tessera top printed\n"};
  }
  if (request.method != "GET") return {.status = 405, .body = "only GET is answered\n"};
  if (request.path() == "/") return html_answer(door.page());
  if (request.path() == "/view") return html_answer(door.view());
  return {.status = 404, .body = "there are / and /view\n"};
}

int top_web(const TopWebOptions& options) {
  LiveCollector collector(options.interval);
  const std::string token = random_token();
  if (token.empty()) return no_page(1, std::strerror(errno));
  const TopDoor door{.token = token,
                     .allow_remote = options.allow_remote,
                     .page = [&] { return live_page(collector.view(), options.interval, random_token()); },
                     .view = [&] { return collector.html(); }};
  HttpServer server;
  const std::string place = options.place.empty() ? "127.0.0.1:0" : options.place;
  const HttpReach reach = options.allow_remote ? HttpReach::kNetwork : HttpReach::kThisMachine;
  if (const std::string problem = server.listen(place, reach); !problem.empty()) {
    const bool is_elsewhere = problem.find("not a loopback address") != std::string::npos;
    return no_page(kWrongUse, problem + (is_elsewhere ? "; --allow-remote takes it, without encryption" : ""));
  }
  std::string shown = server.place();
  if (server.is_at_every_address()) shown = name_of_machine() + shown.substr(shown.rfind(':'));
  fmt::print("http://{}/?token={}\n", shown, token);
  std::fflush(stdout);
  const auto interval =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(options.interval));
  for (;;) {
    collector.look();
    server.serve_for(interval, [&](const HttpRequest& request) { return answer_top(request, door); });
  }
}
