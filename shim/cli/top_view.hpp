// The output of `tessera top`: samples of processes as rates, in tables and as JSON.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/node.h"

// Events between two samples, per second.
struct TopRates {
  double seconds = 0;  // between them
  double bytes_in = 0, bytes_out = 0;
  double file_read = 0, file_written = 0;
  double launches = 0;
  double stall_share = 0;  // seconds waited by threads, per second: 2 if two threads waited all the time
  std::map<std::string, double> stall_share_by_cause;
};

struct TopRow {
  int pid = 0;
  std::string name;
  std::uint64_t written_ns = 0;  // when the figures were taken
  nlohmann::json stats;          // from tessera_stats_json
  std::optional<TopRates> rates;
  std::optional<std::uint64_t> host_share{};           // what it may hold of the node's host memory, if it shares that
  std::vector<tessera_node_device_program> devices{};  // what it shares of devices
};

// 0 if the statistics lack it, as those of another version may.
std::uint64_t top_figure(const TopRow& row, const char* group, const char* name);

// "active", "idle" or "asleep".
const char* program_state(const TopRow& row);
// With the time since the last use: "active", "idle 59s", "asleep 9h".
std::string program_state_text(const TopRow& row);

// None if no time passed, or if the figures are from another allocator.
std::optional<TopRates> rates_between(const TopRow& before, const TopRow& after);

std::string top_table(const std::vector<TopRow>& rows);
// REQUIRES: rows.
std::string top_html_table(const std::vector<TopRow>& rows);
nlohmann::json top_json(const std::vector<TopRow>& rows);
// The same as text. The kernel may truncate a program's name inside a character: invalid UTF-8 is replaced.
std::string top_json_line(const std::vector<TopRow>& rows);
