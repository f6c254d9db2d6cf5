#include "lab/replay/replay_options.hpp"

#include <charconv>
#include <variant>

#include <fmt/core.h>

#include "base/size_text.hpp"
#include "policy/policy.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t kMaxIterations = 100'000;
constexpr std::uint32_t kMostLenders = 15;
constexpr std::uint64_t kLongestCall = 1'000'000'000;  // nanoseconds

using Speed = std::uint64_t ReplayOptions::*;

struct Entry {
  std::string_view name;
  std::variant<Bytes ReplayOptions::*, Speed, Nanoseconds ReplayOptions::*, bool ReplayOptions::*> field;
};
constexpr Entry kFields[] = {
    {"device-memory", &ReplayOptions::device_memory},
    {"host-memory", &ReplayOptions::host_memory},
    {"file-memory", &ReplayOptions::file_memory},
    {"h2d", &ReplayOptions::h2d},
    {"d2h", &ReplayOptions::d2h},
    {"file-read", &ReplayOptions::file_read},
    {"file-write", &ReplayOptions::file_write},
    {"peer-memory", &ReplayOptions::peer_memory},
    {"peer-rate", &ReplayOptions::peer_rate},
    {"mapping-time", &ReplayOptions::mapping_time},
    {"copy-turn", &ReplayOptions::copy_turn},
    {"frame-time", &ReplayOptions::frame_time},
    {"launch-time", &ReplayOptions::launch_time},
    {"host-frames", &ReplayOptions::host_frames},
    {"unseen-work", &ReplayOptions::unseen_work},
    {"extents", &ReplayOptions::extents},
    {"handles", &ReplayOptions::handles},
};

Status refused(std::string_view name, std::string_view value, std::string_view wanted) {
  return {Code::kInvalidArgument, fmt::format("{}: '{}' is not {}", name, value, wanted)};
}

template <class T>
bool parse(std::string_view text, T& number) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

Status store(std::string_view name, std::string_view value, Bytes& field) {
  const Result<Bytes> size = parse_size(value);
  if (!size.is_ok()) return refused(name, value, "a size; write 96MiB or 4GiB");
  field = size.value();
  return {};
}

Status store(std::string_view name, std::string_view value, std::uint64_t& field) {
  double speed = 0;
  if (!parse(value, speed) || speed < 1 || speed > 1e15) {
    return refused(name, value, "a number of bytes per second; write 25e9");
  }
  field = static_cast<std::uint64_t>(speed);
  return {};
}

Status store(std::string_view name, std::string_view value, Nanoseconds& field) {
  std::uint64_t nanoseconds = 0;
  if (!parse(value, nanoseconds) || nanoseconds > kLongestCall) {
    return refused(name, value, "a number of nanoseconds; write 45000");
  }
  field = Nanoseconds(nanoseconds);
  return {};
}

Status store(std::string_view name, std::string_view value, bool& field) {
  if (value != "on" && value != "off") return refused(name, value, "on or off");
  field = value == "on";
  return {};
}

}  // namespace

Status ReplayOptions::set(std::string_view name, std::string_view value) {
  for (const Entry& entry : kFields) {
    if (entry.name != name) continue;
    return std::visit([&](auto field) { return store(name, value, this->*field); }, entry.field);
  }
  if (name == "policy") {
    const Status known = make_policy(value).status();
    if (!known.is_ok()) return {known.code(), fmt::format("policy: {}", known.message())};
    policy = value;
    return {};
  }
  if (name == "lenders") {
    std::uint32_t count = 0;
    if (!parse(value, count) || count == 0 || count > kMostLenders) return refused(name, value, "a count from 1 to 15");
    lenders = count;
    return {};
  }
  if (name == "iterations") {
    std::uint32_t count = 0;
    if (!parse(value, count) || count == 0 || count > kMaxIterations) {
      return refused(name, value, "a count from 1 to 100000");
    }
    iterations = count;
    return {};
  }
  if (name == "unhinted-access") {
    if (value != "off" && value != "auto") return refused(name, value, "off or auto");
    unhinted = value == "auto";
    return {};
  }
  if (name == "seed") {
    if (!parse(value, seed)) return refused(name, value, "a whole number");
    return {};
  }
  if (name == "timeline") {
    timeline = value;
    return {};
  }
  return {Code::kNotFound, fmt::format("unknown option '{}'; `tessera replay --help` lists them", name)};
}

}  // namespace tessera
