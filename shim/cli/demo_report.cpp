#include "demo_report.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rounded.hpp"

namespace {

using Row = std::array<std::string, 4>;

std::string outcome(const TrainingResult& result) {
  if (result.well()) return "finished";
  if (!result.error.empty()) return result.error;
  if (!result.process.problem.empty()) return "not started";
  return fmt::format("exit code {}", result.process.exit_code);
}

std::string last_loss(const TrainingResult& result) { return result.losses.empty() ? "-" : result.losses.back(); }

std::string aligned(const std::vector<Row>& rows) {
  std::array<std::size_t, 4> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("   {:>{}}", row[i], widths[i]);
    text += "\n";
  }
  return text;
}

}  // namespace

bool read_figures(const std::string& stats_file, DemoFigures& out) {
  std::ifstream file(stats_file);
  const auto stats = nlohmann::json::parse(file, nullptr, false);
  if (!stats.is_object()) return false;
  bool whole = true;
  const auto take = [&](const char* group, const char* name, std::uint64_t& field) {
    const auto found = stats.find(group);
    whole = whole && found != stats.end() && found->is_object() && found->contains(name) &&
            (*found)[name].is_number_unsigned();
    if (whole) field = (*found)[name].get<std::uint64_t>();
  };
  take("device", "device_capacity", out.device_capacity);
  take("device", "device_peak", out.device_peak);
  take("host", "host_capacity", out.host_capacity);
  take("host", "host_peak", out.host_peak);
  take("file", "file_peak", out.file_peak);
  take("blocks", "peak_live_bytes", out.peak_live_bytes);
  take("moves", "bytes_in", out.bytes_in);
  take("moves", "bytes_out", out.bytes_out);
  take("moves", "bytes_file_read", out.bytes_file_read);
  take("moves", "bytes_file_written", out.bytes_file_written);
  take("waits", "stalls", out.stalls);
  take("waits", "stall_ns", out.stall_ns);
  return whole;
}

std::vector<std::string> DemoReport::faults() const {
  std::vector<std::string> found;
  const auto expect = [&](bool holds, const char* fault) {
    if (!holds) found.emplace_back(fault);
  };
  expect(alone.well(), "(a) did not finish although its device memory is ample");
  expect(!small_alone.well() && small_alone.error == "CUDA_ERROR_OUT_OF_MEMORY",
         "(b) did not fail with CUDA_ERROR_OUT_OF_MEMORY");
  expect(small_tessera.well(), "(c) did not finish");
  expect(alone.losses == small_tessera.losses, "the losses of (a) and (c) differ");
  expect(figures.device_peak <= small, "(c) used more device memory than its budget");
  expect(figures.bytes_in > 0 && figures.bytes_out > 0, "(c) moved nothing between device and host");
  expect(figures.bytes_file_written > 0 && figures.bytes_file_read > 0, "(c) did not use the file");
  return found;
}

double DemoReport::slowdown() const {
  return alone.process.seconds > 0 ? small_tessera.process.seconds / alone.process.seconds : 0;
}

std::string DemoReport::table() const {
  const auto moved = [&](std::uint64_t bytes) { return rounded_bytes(bytes); };
  const auto seconds = [](const TrainingResult& r) { return rounded_seconds(r.process.seconds); };
  const auto step = [](const TrainingResult& r) { return rounded_seconds(r.step_seconds); };
  const std::vector<Row> rows = {
      {"", "(a) ample", "(b) a third", "(c) a third, Tessera"},
      {"device memory", rounded_bytes(ample), rounded_bytes(small), rounded_bytes(small)},
      {"outcome", outcome(alone), outcome(small_alone), outcome(small_tessera)},
      {"live peak", rounded_bytes(alone.live_peak), "-", rounded_bytes(small_tessera.live_peak)},
      {"device peak", rounded_bytes(alone.live_peak), "-", rounded_bytes(figures.device_peak)},
      {"pinned host peak", "-", "-", rounded_bytes(figures.host_peak)},
      {"file peak", "-", "-", rounded_bytes(figures.file_peak)},
      {"host to device", "-", "-", moved(figures.bytes_in)},
      {"device to host", "-", "-", moved(figures.bytes_out)},
      {"file read", "-", "-", moved(figures.bytes_file_read)},
      {"file written", "-", "-", moved(figures.bytes_file_written)},
      {"stalls", "-", "-", fmt::format("{}", figures.stalls)},
      {"stall time", "-", "-", rounded_seconds(static_cast<double>(figures.stall_ns) / 1e9)},
      {"time per step", step(alone), "-", step(small_tessera)},
      {"time", seconds(alone), seconds(small_alone), seconds(small_tessera)},
      {"time over (a)", "1.00", "-", fmt::format("{:.2f}", slowdown())},
      {"last loss", last_loss(alone), "-", last_loss(small_tessera)},
  };
  return aligned(rows);
}

std::string DemoReport::json() const {
  const auto run = [](const TrainingResult& r) {
    return nlohmann::ordered_json{{"outcome", outcome(r)},          {"exit_code", r.process.exit_code},
                                  {"live_peak", r.live_peak},       {"seconds", r.process.seconds},
                                  {"step_seconds", r.step_seconds}, {"losses", r.losses}};
  };
  nlohmann::ordered_json report = {{"device", device},       {"ample", ample},
                                   {"small", small},         {"a", run(alone)},
                                   {"b", run(small_alone)},  {"c", run(small_tessera)},
                                   {"slowdown", slowdown()}, {"losses_equal", alone.losses == small_tessera.losses},
                                   {"timeline", timeline},   {"report", page},
                                   {"faults", faults()}};
  report["c"]["device_peak"] = figures.device_peak;
  report["c"]["host_peak"] = figures.host_peak;
  report["c"]["file_peak"] = figures.file_peak;
  report["c"]["bytes_in"] = figures.bytes_in;
  report["c"]["bytes_out"] = figures.bytes_out;
  report["c"]["bytes_file_read"] = figures.bytes_file_read;
  report["c"]["bytes_file_written"] = figures.bytes_file_written;
  report["c"]["stalls"] = figures.stalls;
  report["c"]["stall_ns"] = figures.stall_ns;
  return report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}
