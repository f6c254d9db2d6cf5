// `tessera stats FILE`: shows what `tessera run --stats FILE` wrote, or the last update of a program that was killed.
//
// Thread safety: none.
#pragma once

#include <optional>
#include <string>

struct StatsOptions {
  std::string file;
  bool json = false;
};

// The contents of a statistics file.
struct StatsText {
  std::string text;  // JSON, or the table as it was written
  bool is_json = false;
  std::optional<long> last_of;  // the process whose last known figures these are; none if it has ended
};

// "" or the error.
std::string parse_stats(const std::string& contents, StatsText& stats);
// One line per group, with its figures below.
std::string table_of(const std::string& json);

int stats_command(const StatsOptions& options);
