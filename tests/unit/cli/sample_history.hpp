// A small history as `tessera run --history` writes one, for tests of the pages that show it.
//
// Thread safety: values.
#pragma once

#include <nlohmann/json.hpp>

// Two tags over four slots, the last one shorter; consistent moves and waits.
inline nlohmann::ordered_json sample_history() {
  return {
      {"tessera_history", 1},
      {"program", "<train>"},
      {"slot_ns", 1'000'000},
      {"ended_ns", 3'500'000},
      {"links",
       {{"in", {0, 1 << 20, 1 << 20, 0}},
        {"out", {0, 1 << 20, 0, 0}},
        {"file_read", {0, 0, 0, 0}},
        {"file_write", {0, 0, 0, 7}}}},
      {"stalls", {{"copy_out", {0, 500'000, 100'000, 0}}, {"mapping", {0, 0, 0, 3'000}}}},
      {"residency",
       {{{"tag", "weights"},
         {"device", {1 << 20, 1 << 20, 0, 0}},
         {"host", {0, 0, 1 << 20, 1 << 20}},
         {"file", {0, 0, 0, 0}}},
        {{"tag", "a&b"}, {"device", {0, 0, 1 << 20, 1 << 20}}, {"host", {0, 0, 0, 0}}, {"file", {0, 0, 0, 0}}}}},
      {"blocks",
       {{{"address", "0x7000"},
         {"bytes", 2 << 20},
         {"tag", "weights"},
         {"gone", true},
         {"stalls", 2},
         {"stall_ns", 603'000},
         {"in", 1 << 20},
         {"out", 1 << 20},
         {"file_read", 0},
         {"file_write", 7}}}},
      {"stats",
       {{"tessera", {{"version", "0.1.0"}, {"policy", "auto"}, {"host_memory", "pinned"}}},
        {"blocks", {{"peak_live_bytes", 4 << 20}}},
        {"device", {{"device_capacity", 2 << 20}, {"device_peak", 2 << 20}}},
        {"host", {{"host_capacity", 8 << 20}, {"host_peak", 1 << 20}}},
        {"moves", {{"bytes_in", 2 << 20}, {"bytes_out", 1 << 20}, {"bytes_file_read", 0}, {"bytes_file_written", 7}}},
        {"waits", {{"stalls", 2}, {"stall_ns", 603'000}, {"late_fetches", 3}}},
        {"stalls_by_cause", {{"copy_out", 2}, {"mapping", 0}}},
        {"stall_time_by_cause", {{"copy_out_ns", 600'000}, {"mapping_ns", 3'000}}}}}};
}
