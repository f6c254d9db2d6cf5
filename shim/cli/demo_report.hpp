// The demo's result: three runs side by side, and whether they prove the claim.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training.hpp"

// From the statistics file of the run under Tessera.
struct DemoFigures {
  std::uint64_t device_capacity = 0, device_peak = 0, host_capacity = 0, host_peak = 0, file_peak = 0,
                peak_live_bytes = 0;
  std::uint64_t bytes_in = 0, bytes_out = 0, bytes_file_read = 0, bytes_file_written = 0;
  std::uint64_t stalls = 0, stall_ns = 0;
};
// False if the file is missing or malformed.
bool read_figures(const std::string& stats_file, DemoFigures& figures);

struct DemoReport {
  std::string device;            // its name
  std::uint64_t ample = 0;       // device memory of (a)
  std::uint64_t small = 0;       // device memory of (b) and (c)
  std::string timeline;          // its path
  std::string page;              // path of the report of (c)
  TrainingResult alone;          // (a)
  TrainingResult small_alone;    // (b)
  TrainingResult small_tessera;  // (c)
  DemoFigures figures;           // of (c)

  // Deviations from the demo's claim; empty if all of it holds.
  std::vector<std::string> faults() const;
  double slowdown() const;  // time of (c) over time of (a)
  std::string table() const;
  std::string json() const;
};
