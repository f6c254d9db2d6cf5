#include "lab/replay/shared_replay_report.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "policy/policy.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

double to_four_digits(double ratio) { return std::round(ratio * 1e4) / 1e4; }

Json json_of(const SharedProgram& program, Nanoseconds alone) {
  if (!program.status.is_ok()) return {{"failure", program.status.message()}};
  const tessera_stats& stats = program.result.stats;
  const double ratio = static_cast<double>(program.ended.value()) / static_cast<double>(alone.value());
  return {{"ended_ns", program.ended.value()}, {"ended_ratio", to_four_digits(ratio)},
          {"turns", program.result.turns},     {"waited_ns", program.result.waited.value()},
          {"bytes_h2d", stats.bytes_in},       {"bytes_d2h", stats.bytes_out},
          {"evictions", stats.evictions},      {"fetches", stats.fetches}};
}

Json json_of(const SharedWay& way, std::span<const ReplayResult> alone) {
  Json json{{"way", way.name}, {"ns", nullptr}, {"throughput", nullptr}, {"programs", Json::array()}};
  if (way.all_well()) {
    json["ns"] = way.time.value();
    json["throughput"] = to_four_digits(way.throughput);
  }
  for (std::size_t i = 0; i < alone.size(); ++i) {
    json["programs"].push_back(json_of(way.programs[i], alone[i].makespan));
  }
  return json;
}

}  // namespace

std::string shared_replay_json(std::span<const Trace> traces, const SharedReplayResult& result) {
  const SharedReplayOptions& options = result.options;
  Json json{{"policy", with_seed(options.replay.policy, options.replay.seed)},
            {"iterations", options.replay.iterations},
            {"device_memory", options.replay.device_memory.value()},
            {"host_memory", options.replay.host_memory.value()},
            {"file_memory", options.replay.file_memory.value()},
            {"h2d", options.replay.h2d},
            {"d2h", options.replay.d2h},
            {"time_slice_ms", options.time_slice},
            {"programs", Json::array()},
            {"ways", Json::array()}};
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const ReplayResult& alone = result.alone[i];
    json["programs"].push_back({{"trace", traces[i].name},
                                {"weight", options.weights[i]},
                                {"device_limit", options.limits[i].value()},
                                {"ops", alone.ops},
                                {"alone_ns", alone.makespan.value()},
                                {"compute_ns", alone.bounds.compute.value()},
                                {"liveness_peak_bytes", alone.bounds.liveness_peak.value()}});
  }
  for (const SharedWay& way : result.ways) json["ways"].push_back(json_of(way, result.alone));
  // A name from a trace may contain any bytes; the object stays valid JSON.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera
