// What `tessera top` shows: samples of processes as rates, as a table and as JSON.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

// What happened between two samples, per second.
struct TopRates {
  double seconds = 0;  // between them
  double bytes_in = 0, bytes_out = 0;
  double file_read = 0, file_written = 0;
  double launches = 0;
  double stall_share = 0;  // seconds that threads waited, per second: 2 when two did all the time
  std::map<std::string, double> stall_share_by_cause;
};

struct TopRow {
  int pid = 0;
  std::string name;
  std::uint64_t written_ns = 0;  // when the figures were true
  nlohmann::json stats;          // of tessera_stats_json
  std::optional<TopRates> rates;
};

// None when no time passed, or the figures are of another allocator.
std::optional<TopRates> rates_between(const TopRow& before, const TopRow& after);

std::string top_table(const std::vector<TopRow>& rows);
nlohmann::json top_json(const std::vector<TopRow>& rows);
// The same as text. The kernel may cut the name of a program inside a character: what is no UTF-8 is replaced.
std::string top_json_line(const std::vector<TopRow>& rows);
