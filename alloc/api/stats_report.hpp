// The statistics as a table for people and JSON for programs. docs/stats.md explains every line.
//
// Thread safety: values. Figures of a snapshot taken while other threads allocate are each correct; sums are exact only
// while no other thread allocates.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "api/outside_memory.hpp"
#include "base/location.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "tessera/tessera.h"

namespace tessera {

struct StatsSnapshot {
  struct Fact {  // what is in use, such as "policy", "recency"
    std::string name;
    std::string value;
  };
  struct Tag {
    std::string name;  // "" for blocks without a tag
    std::uint64_t blocks = 0;
    Bytes bytes;  // as requested
  };
  struct TagPages {
    std::string name;                     // "" for blocks without a tag
    std::array<Bytes, kLocations> bytes;  // each page in the nearest tier that has it
  };
  struct Exposure {
    std::string reason;  // the call that exposed them first
    Bytes bytes;
    std::string first_call;  // stack of the first call with this reason, if recorded, else ""
  };
  struct Stalls {
    std::string name;  // of the cause
    std::uint64_t stalls = 0;
    Nanoseconds time;
  };

  tessera_stats totals{};
  std::vector<Fact> facts;
  std::vector<Tag> tags;                     // empty, or all live blocks
  std::vector<TagPages> tag_pages;           // empty, or all pages with bytes
  std::vector<Exposure> exposures;           // empty, or all exposed bytes
  std::vector<Stalls> causes;                // empty, or all stalls
  std::vector<OutsideMemory::Part> outside;  // by kind
};

std::string stats_table(const StatsSnapshot& stats);
std::string stats_json(const StatsSnapshot& stats);
// JSON when `path` ends in .json, else the table; "-" is standard error. Errors: kIo.
Status write_stats(const StatsSnapshot& stats, const std::string& path);
// The text that write_stats() writes: JSON, or the table.
std::string stats_text(const StatsSnapshot& stats, bool json);

// The lines for a person at the end of a program, when something is exposed: what, how much, since which call. Bounded;
// without line ends.
std::vector<std::string> exposure_lines(const StatsSnapshot& stats);

// Whether the equations of docs/stats.md hold. Errors: kInternal with the equation and both sides.
Status check_sums(const StatsSnapshot& stats);

}  // namespace tessera
