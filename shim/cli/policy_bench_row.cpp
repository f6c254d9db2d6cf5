#include "policy_bench_row.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace {

using Json = nlohmann::ordered_json;

// The JSON object; on failure null, with the reason in `failure`.
Json told(const ChildAnswer& answer, std::string& failure) {
  failure = answer.failure;
  if (!failure.empty()) return nullptr;
  Json json = Json::parse(answer.text, nullptr, false);
  if (json.is_object() && json.contains("last_pass")) return json;
  failure = json.is_object() ? json.value("failure", "no answer") : "no answer";
  failure.resize(std::min(failure.find('\n'), failure.size()));  // the rest is advice
  return nullptr;
}

class Pass {
 public:
  explicit Pass(const Json& json)
      : json_(json.at("last_pass")),
        iterations_(std::max<std::uint64_t>(json_.at("iterations").get<std::uint64_t>(), 1)) {}

  std::uint64_t each(const char* key) const { return json_.at(key).get<std::uint64_t>() / iterations_; }
  // Time of an iteration, averaged over this pass and the previous one: some strategies alternate, and the mean of one
  // pass would depend on how many alternations it has.
  std::uint64_t step(const Json& iteration_ns) const {
    const std::uint64_t last = each("ns");
    if (iteration_ns.size() < 2 * iterations_) return last;
    std::uint64_t before = 0;
    for (std::size_t i = iteration_ns.size() - 2 * iterations_; i < iteration_ns.size() - iterations_; ++i) {
      before += iteration_ns[i].get<std::uint64_t>();
    }
    return (last + before / iterations_) / 2;
  }

 private:
  const Json& json_;
  std::uint64_t iterations_;
};

}  // namespace

double PolicyBenchRow::ratio() const {
  return static_cast<double>(step_ns) / static_cast<double>(std::max<std::uint64_t>(lower_bound_ns, 1));
}

void read_trace_figures(const ChildAnswer& answer, PolicyBenchTrace& trace) {
  const Json json = told(answer, trace.failure);
  if (json.is_null()) return;
  const Pass pass(json);
  trace.liveness_peak = json.at("liveness_peak_bytes").get<std::uint64_t>();
  trace.largest_step = json.at("largest_step_bytes").get<std::uint64_t>();
  trace.step_ns = pass.each("compute_ns");
  trace.ops = pass.each("ops");
}

void read_row_figures(const ChildAnswer& answer, PolicyBenchRow& row) {
  row.processor_time = answer.processor_time;
  const Json json = told(answer, row.failure);
  if (json.is_null()) return;
  const Pass pass(json);
  row.step_ns = pass.step(json.value("iteration_ns", Json::array()));
  row.lower_bound_ns = pass.each("lower_bound_ns");
  row.bytes_h2d = pass.each("bytes_h2d");
  row.bytes_d2h = pass.each("bytes_d2h");
  row.bytes_file_read = pass.each("bytes_file_read");
  row.bytes_file_written = pass.each("bytes_file_written");
  row.bytes_peer_in = pass.each("bytes_peer_in");
  row.bytes_peer_out = pass.each("bytes_peer_out");
}

void read_call_times(const ChildAnswer& answer, PolicyBench& bench) {
  std::string failure;
  const Json json = told(answer, failure);
  if (json.is_null()) return;
  for (const std::string name : {"mapping-time", "copy-turn", "frame-time", "launch-time"}) {
    std::string key = name;
    std::ranges::replace(key, '-', '_');
    const bool known = std::ranges::any_of(bench.settings, [&name](const auto& each) { return each.first == name; });
    if (!known && json.contains(key)) bench.settings.emplace_back(name, json.at(key).dump());
  }
}
