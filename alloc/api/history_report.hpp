// The history of a run as a file, which `tessera report` draws. docs/report.md explains it.
//
// Thread safety: values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/stats_report.hpp"
#include "observe/history.hpp"
#include "residency/pages/run_cost.hpp"

namespace tessera {

// A policy, and when it became active.
struct PolicyTurn {
  Nanoseconds from;  // since the run began
  std::string name;  // as it was set
};

struct HistoryReport {
  std::string program;
  std::optional<Nanoseconds> part_from;  // since the run began; none for the whole run
  HistoryPicture picture;
  std::vector<std::string> tags;  // names, one for each of picture.tags
  struct Block {
    CostlyRun run;
    std::string tag;
  };
  std::vector<Block> blocks;         // the costliest, in descending order
  std::vector<PolicyTurn> policies;  // the last ones, oldest first
  StatsSnapshot stats;
};

// One JSON object: integers are bytes and nanoseconds, lists have one number per time slot.
std::string history_json(const HistoryReport& report);
// Errors: kIo.
Status write_history(const HistoryReport& report, const std::string& path);

}  // namespace tessera
