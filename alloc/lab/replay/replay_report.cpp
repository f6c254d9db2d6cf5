#include "lab/replay/replay_report.hpp"

#include <nlohmann/json.hpp>

#include "policy/policy.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

// Only causes that occurred.
Json json_of(const StreamStalls& stalls) {
  Json json = Json::object();
  const auto put = [&json](const char* name, Nanoseconds time) {
    if (time) json[name] = time.value();
  };
  for (std::size_t i = 0; i < kStallCauses; ++i) put(name_of(static_cast<StallCause>(i)), stalls.by_cause[i]);
  put("recompute", stalls.recompute);
  put("other", stalls.other);
  return json;
}

Json json_of(const LastPass& pass) {
  return {{"iterations", pass.iterations},
          {"ops", pass.ops},
          {"ns", pass.time.value()},
          {"compute_ns", pass.compute.value()},
          {"stall_ns_by_cause", json_of(pass.stalls)},
          {"lower_bound_ns", pass.lower_bound.value()},
          {"bytes_h2d", pass.in.value()},
          {"bytes_d2h", pass.out.value()},
          {"bytes_file_read", pass.file_read.value()},
          {"bytes_file_written", pass.file_written.value()},
          {"bytes_peer_in", pass.peer_in.value()},
          {"bytes_peer_out", pass.peer_out.value()}};
}

}  // namespace

std::string replay_json(const Trace& trace, const ReplayResult& result) {
  const ReplayOptions& options = result.options;
  const tessera_stats& stats = result.stats;
  Json json;
  json["trace"] = trace.name;
  json["policy"] = with_seed(options.policy, options.seed);
  json["iterations"] = options.iterations;
  json["events"] = result.events;
  json["ops"] = result.ops;
  json["device_memory"] = options.device_memory.value();
  json["host_memory"] = options.host_memory.value();
  json["file_memory"] = options.file_memory.value();
  json["h2d"] = options.h2d;
  json["d2h"] = options.d2h;
  json["file_read"] = options.file_read;
  json["file_write"] = options.file_write;
  json["peer_memory"] = options.peer_memory.value();
  json["lenders"] = options.lenders;
  json["peer_rate"] = options.peer_rate;
  json["mapping_time"] = options.mapping_time.value();
  json["copy_turn"] = options.copy_turn.value();
  json["frame_time"] = options.frame_time.value();
  json["launch_time"] = options.launch_time.value();
  json["compute_ns"] = result.bounds.compute.value();
  json["makespan_ns"] = result.makespan.value();
  json["stall_ns"] = (result.makespan - result.bounds.compute).value();
  json["lower_bound_ns"] = result.lower_bound.value();
  json["iteration_ns"] = Json::array();
  for (const Nanoseconds time : result.iterations) json["iteration_ns"].push_back(time.value());
  json["last_pass"] = json_of(result.last_pass);
  json["peak_device_bytes"] = stats.device_peak;
  json["liveness_peak_bytes"] = result.bounds.liveness_peak.value();
  json["largest_step_bytes"] = result.bounds.largest_step.value();
  json["bytes_h2d"] = stats.bytes_in;
  json["bytes_d2h"] = stats.bytes_out;
  json["bytes_file_read"] = stats.bytes_file_read;
  json["bytes_file_written"] = stats.bytes_file_written;
  json["bytes_peer_in"] = stats.bytes_peer_in;
  json["bytes_peer_out"] = stats.bytes_peer_out;
  json["evictions"] = stats.evictions;
  json["clean_evictions"] = stats.clean_evictions;
  json["discards"] = stats.discards;
  json["forwards"] = stats.forwards;
  json["fetches"] = stats.fetches;
  json["late_fetches"] = stats.late_fetches;
  json["recomputes"] = stats.recomputes;
  json["recompute_ns"] = stats.recompute_ns;
  json["dropped_bytes"] = stats.dropped_bytes;
  // A name from a trace may contain any bytes; the object stays valid JSON.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string policies_json() {
  Json list = Json::array();
  for (const PolicyEntry& entry : policies()) {
    list.push_back({{"name", entry.name}, {"source", entry.source}, {"summary", entry.summary}});
  }
  return list.dump();
}

}  // namespace tessera
