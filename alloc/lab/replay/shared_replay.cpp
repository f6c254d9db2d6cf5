#include "lab/replay/shared_replay.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include <fmt/core.h>

#include "base/size_text.hpp"
#include "lab/replay/virtual_threads.hpp"

namespace tessera {
namespace {

constexpr std::uint32_t kMostTimeSlice = 3'600'000;

template <class Add>
bool each_of(std::string_view list, Add add) {
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    if (!add(list.substr(0, comma))) return false;
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return true;
}

bool parse_number(std::string_view text, std::uint32_t most, std::uint32_t& number) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc{} && parsed.ptr == end && number <= most;
}

Status wrong_value(std::string_view name, std::string_view value, std::string_view wanted) {
  return {Code::kInvalidArgument, fmt::format("{}: '{}' is not {}", name, value, wanted)};
}

Status unsuitable(std::string text) { return {Code::kInvalidArgument, std::move(text)}; }

Status check_suits(std::span<const Trace> traces, const SharedReplayOptions& options) {
  if (traces.size() < 2) return unsuitable("a device is shared by two programs or more");
  if (options.replay.peer_memory) return unsuitable("programs that share a device have no memory of a peer");
  if (!options.replay.timeline.empty()) return unsuitable("there is no timeline of several programs");
  for (const Trace& trace : traces) {
    if (trace.devices() > 1) return unsuitable(fmt::format("{} uses several devices: one can be shared", trace.name));
  }
  if (options.weights.size() != traces.size() || options.limits.size() != traces.size()) {
    return unsuitable(fmt::format("weights and device-limits need a value for each of the {} programs", traces.size()));
  }
  return {};
}

// All programs at the same time.
Result<SharedWay> share_device(std::span<const Trace> traces, const SharedReplayOptions& options, std::string name,
                               const SharedUse& use) {
  SharedMachine machine(options.replay.device_memory);
  SharedWay way{.name = std::move(name), .programs = {}, .time = {}};
  way.programs.resize(traces.size());
  std::vector<std::function<void()>> bodies;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    bodies.emplace_back([&, i] {
      SharedPlace place{machine, use};
      place.use.weight = options.weights[i];
      place.use.limit = options.limits[i];
      SharedProgram& program = way.programs[i];
      auto result = replay(traces[i], options.replay, &place);
      program.status = result.status();
      if (result.is_ok()) program.result = result.take();
      program.ended = program.result.makespan;
    });
  }
  VirtualThreads threads(machine.clock);
  TESSERA_TRY(threads.run(bodies));
  for (const SharedProgram& program : way.programs) way.time = std::max(way.time, program.ended);
  return way;
}

SharedWay one_after_the_other(std::span<const ReplayResult> alone) {
  SharedWay way{.name = "one after the other", .programs = {}, .time = {}};
  for (const ReplayResult& result : alone) {
    way.time += result.makespan;
    way.programs.push_back({{}, way.time, result});
  }
  return way;
}

}  // namespace

Status SharedReplayOptions::set(std::string_view name, std::string_view value) {
  if (name == "time-slice") {
    std::uint32_t slice = 0;
    if (!parse_number(value, kMostTimeSlice, slice) || slice == 0)
      return wrong_value(name, value, "a number of milliseconds");
    time_slice = slice;
    return {};
  }
  if (name == "weights") {
    std::vector<std::uint32_t> given;
    const bool well = each_of(value, [&](std::string_view word) {
      return parse_number(word, kMostWeight, given.emplace_back()) && given.back() > 0;
    });
    if (!well) return wrong_value(name, value, "a weight from 1 to 10000 for each program; write 100,300");
    weights = std::move(given);
    return {};
  }
  if (name == "device-limits") {
    std::vector<Bytes> given;
    const bool well = each_of(value, [&](std::string_view word) {
      given.emplace_back();
      if (word == "off") return true;
      const Result<Bytes> size = parse_size(word);
      if (size.is_ok()) given.back() = size.value();
      return size.is_ok() && given.back() != Bytes();
    });
    if (!well) return wrong_value(name, value, "a size or off for each program; write 4GiB,off");
    limits = std::move(given);
    return {};
  }
  return replay.set(name, value);
}

bool SharedWay::all_well() const {
  return std::ranges::all_of(programs, [](const SharedProgram& program) { return program.status.is_ok(); });
}

Result<SharedReplayResult> replay_shared(std::span<const Trace> traces, SharedReplayOptions options) {
  if (options.weights.empty()) options.weights.assign(traces.size(), SharedUse().weight);
  if (options.limits.empty()) options.limits.assign(traces.size(), Bytes());
  TESSERA_TRY(check_suits(traces, options));
  Bytes memory;
  for (const Trace& trace : traces) memory = std::max(memory, device_memory_for(trace, options.replay));
  options.replay.device_memory = memory;
  SharedReplayResult result;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    ReplayOptions own = options.replay;
    if (options.limits[i]) own.device_memory = std::min(own.device_memory, options.limits[i]);
    TESSERA_TRY_ASSIGN(result.alone.emplace_back(), replay(traces[i], std::move(own)));
  }
  result.ways.push_back(one_after_the_other(result.alone));
  const std::pair<std::string, SharedUse> uses[] = {
      {"share off", {.shares = false}},
      {"time-slice 0", {.time_slice = 0}},
      {fmt::format("time-slice {}", options.time_slice), {.time_slice = options.time_slice}},
  };
  for (const auto& [name, use] : uses) {
    TESSERA_TRY_ASSIGN(result.ways.emplace_back(), share_device(traces, options, name, use));
  }
  const auto serial = static_cast<double>(result.ways.front().time.value());
  for (SharedWay& way : result.ways) {
    if (way.all_well()) way.throughput = serial / static_cast<double>(way.time.value());
  }
  result.options = std::move(options);
  return result;
}

}  // namespace tessera
