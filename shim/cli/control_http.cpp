#include "control_http.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "http_access.hpp"

namespace {

constexpr std::size_t kMostTags = 8;
constexpr std::size_t kLongestTag = 31;

HttpAnswer json_answer(int status, const nlohmann::json& body) {
  return {status, "application/json", body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

HttpAnswer problem(int status, const std::string& what) { return json_answer(status, {{"error", what}}); }

std::optional<HttpAnswer> refusal(const HttpRequest& request, const ControlDoor& door) {
  for (const auto& [name, value] : request.headers) {
    if (name == "origin" || name == "referer" || name.starts_with("sec-fetch-")) {
      return problem(403, "requests of web pages are refused");
    }
  }
  if (door.token.empty()) return std::nullopt;
  if (!is_this_machine(request.header("host")))
    return problem(403, "the Host header is not an address of this machine");
  if (!has_bearer_token(request, door.token)) {
    return problem(401, "the token is missing or wrong: Authorization: Bearer TOKEN");
  }
  return std::nullopt;
}

struct Wanted {
  std::string level = "1";
  std::vector<std::string> tags;
  std::string wrong;  // "" if nothing is
};

// Other parameters are ignored, as servers of this protocol do.
Wanted wanted_of(const HttpRequest& request) {
  Wanted wanted;
  const auto query = request.query();
  if (!query) wanted.wrong = "the query has an invalid escape";
  for (const auto& [name, value] : query.value_or(std::vector<std::pair<std::string, std::string>>())) {
    if (name == "level") wanted.level = value;
    if (name == "tags") wanted.tags.push_back(value);
  }
  const auto is_control = [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; };
  for (const std::string& tag : wanted.tags) {
    if (tag.size() > kLongestTag || std::ranges::any_of(tag, is_control)) {
      wanted.wrong = fmt::format("a tag has at most {} characters", kLongestTag);
    }
  }
  if (wanted.tags.size() > kMostTags) wanted.wrong = fmt::format("at most {} tags", kMostTags);
  if (wanted.level != "1" && wanted.level != "2") wanted.wrong = "level is 1 or 2";
  return wanted;
}

HttpAnswer move(const std::string& verb, const HttpRequest& request, const ControlDoor& door) {
  const Wanted wanted = wanted_of(request);
  if (!wanted.wrong.empty()) return problem(400, wanted.wrong);
  std::vector<std::string> lines;
  for (const std::string& tag : wanted.tags) lines.push_back(fmt::format("{} :{}", verb, tag));
  if (lines.empty()) lines.push_back(verb + " *");
  std::uint64_t moved = 0, stayed = 0;
  for (const std::string& line : lines) {
    const ControlReply reply = door.move(line);
    if (!reply.problem.empty()) return problem(reply.reached ? 500 : 503, reply.problem);
    moved += reply.moved_bytes;
    stayed += reply.stayed_bytes;
  }
  return json_answer(200, {{"moved_bytes", moved}, {"stayed_bytes", stayed}});
}

HttpAnswer is_sleeping(const ControlDoor& door) {
  const ProgramState state = door.state();
  if (!state.problem.empty()) return problem(503, state.problem);
  return json_answer(200, {{"is_sleeping", state.asleep}});
}

}  // namespace

HttpAnswer answer_control(const HttpRequest& request, const ControlDoor& door) {
  if (auto refused = refusal(request, door)) return *refused;
  const std::string path = request.path();
  const bool moves = path == "/sleep" || path == "/wake_up";
  if (!moves && path != "/is_sleeping") return problem(404, "there are /sleep, /wake_up and /is_sleeping");
  if (request.method != (moves ? "POST" : "GET")) return problem(405, moves ? "use POST" : "use GET");
  if (!moves) return is_sleeping(door);
  return move(path == "/sleep" ? "sleep" : "wake", request, door);
}
