// `tessera stats FILE`: what `tessera run --stats FILE` wrote, or the last that a program wrote before it was killed.
//
// Thread safety: none.
#pragma once

#include <string>

struct StatsOptions {
  std::string file;
  bool json = false;
};

// What a file of statistics has to say.
struct StatsText {
  std::string text;  // JSON, or the table as it was written
  bool is_json = false;
  bool is_last_known = false;  // the program has not come to its end (yet)
  long pid = 0;                // of that program
};

// "" or what is wrong with it.
std::string parse_stats(const std::string& contents, StatsText& stats);
// A group for each line, its figures below it.
std::string table_of(const std::string& json);

int stats_command(const StatsOptions& options);
