// The history of a run as a file, which `tessera report` draws. docs/report.md explains it.
//
// Thread safety: values.
#pragma once

#include <string>
#include <vector>

#include "api/stats_report.hpp"
#include "observe/history.hpp"
#include "residency/run_cost.hpp"

namespace tessera {

// A policy, and since when it is followed.
struct PolicyTurn {
  Nanoseconds from;  // since the run began
  std::string name;  // as it was set
};

struct HistoryReport {
  std::string program;
  HistoryPicture picture;
  std::vector<std::string> tags;  // names, one for each of picture.tags
  struct Block {
    CostlyRun run;
    std::string tag;
  };
  std::vector<Block> blocks;      // the costliest, first the one that cost most
  std::vector<PolicyTurn> policies;  // the last ones, oldest first
  StatsSnapshot stats;
};

// One JSON object: integers are bytes and nanoseconds, lists have one number for each slot of time.
std::string history_json(const HistoryReport& report);
// Errors: kIo.
Status write_history(const HistoryReport& report, const std::string& path);

}  // namespace tessera
