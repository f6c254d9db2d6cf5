// replay.h: validate, forward, translate the error.
#include "tessera/replay.h"

#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "api/call.hpp"
#include "base/log.hpp"
#include "lab/replay/replay_report.hpp"
#include "lab/replay/replayer.hpp"
#include "lab/replay/shared_replay_report.hpp"
#include "lab/replay/trace_reader.hpp"

struct tessera_replay {
  tessera::SharedReplayOptions options;
  std::string json;
};

namespace {

tessera::Result<tessera::Trace> trace_at(const char* path) {
  tessera::Trace trace;
  TESSERA_TRY_ASSIGN(trace, tessera::read_trace(std::string(path)));
  for (const std::string& note : trace.notes) tessera::log_text(tessera::LogLevel::kWarning, note);
  if (!trace.ops.empty()) return trace;
  return tessera::Status(tessera::Code::kInvalidArgument,
                         fmt::format("{}: the trace has no operations: nothing to replay", path));
}

}  // namespace

extern "C" {

tessera_result tessera_replay_create(tessera_replay** replay) {
  return tessera::api_call([&]() -> tessera::Status {
    if (replay == nullptr) return tessera::null_argument("replay");
    *replay = new tessera_replay;
    return {};
  });
}

void tessera_replay_destroy(tessera_replay* replay) { delete replay; }

tessera_result tessera_replay_set(tessera_replay* replay, const char* name, const char* value) {
  return tessera::api_call([&]() -> tessera::Status {
    if (replay == nullptr) return tessera::null_argument("replay");
    if (name == nullptr) return tessera::null_argument("name");
    if (value == nullptr) return tessera::null_argument("value");
    return replay->options.set(name, value);
  });
}

tessera_result tessera_replay_run(tessera_replay* replay, const char* trace_path, const char** json) {
  return tessera::api_call([&]() -> tessera::Status {
    if (replay == nullptr) return tessera::null_argument("replay");
    if (trace_path == nullptr) return tessera::null_argument("trace_path");
    if (json == nullptr) return tessera::null_argument("json");
    TESSERA_TRY_ASSIGN(const tessera::Trace trace, trace_at(trace_path));
    tessera::ReplayResult result;
    TESSERA_TRY_ASSIGN(result, tessera::replay(trace, replay->options.replay));
    replay->json = tessera::replay_json(trace, result);
    *json = replay->json.c_str();
    return {};
  });
}

tessera_result tessera_replay_run_shared(tessera_replay* replay, const char* const* trace_paths, size_t count,
                                         const char** json) {
  return tessera::api_call([&]() -> tessera::Status {
    if (replay == nullptr) return tessera::null_argument("replay");
    if (trace_paths == nullptr) return tessera::null_argument("trace_paths");
    if (json == nullptr) return tessera::null_argument("json");
    std::vector<tessera::Trace> traces;
    for (const char* const path : std::span(trace_paths, count)) {
      if (path == nullptr) return tessera::null_argument("trace_paths");
      TESSERA_TRY_ASSIGN(traces.emplace_back(), trace_at(path));
    }
    tessera::SharedReplayResult result;
    TESSERA_TRY_ASSIGN(result, tessera::replay_shared(traces, replay->options));
    replay->json = tessera::shared_replay_json(traces, result);
    *json = replay->json.c_str();
    return {};
  });
}

const char* tessera_replay_policies(void) {
  static const std::string policies = tessera::policies_json();
  return policies.c_str();
}

const char* tessera_replay_last_error(void) { return tessera::last_error_text(); }

}  // extern "C"
