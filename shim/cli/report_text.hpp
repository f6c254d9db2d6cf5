// How pages about runs show figures: by their names, as bytes, times or counts.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

// "bytes_in" is "bytes in".
std::string with_blanks(std::string name);
// "0", "603 us".
std::string time_text(double ns);
std::string bytes_text(double bytes);

// A figure of the statistics, by the name of its group and its own.
struct FigureText {
  std::string name;   // "stall time"
  std::string value;  // "1.50 s"
};
// REQUIRES: a number that is not negative.
FigureText figure_text(const std::string& group, const std::string& name, double value);

// Why calls waited, in words. docs/stats.md describes these in detail.
struct StallRemedy {
  const char* cause;       // as in the statistics
  std::size_t colour;      // of kPageColours: that of the link that is waited for, if any
  const char* waited_for;  // "" if the cause is unknown here: statistics of another version may have one
  const char* remedy;
};
StallRemedy stall_remedy(const std::string& cause);
