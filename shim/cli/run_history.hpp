// The file written by `tessera run --history FILE`: parsed, and checked against its own statistics.
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

// Where pages can be, from near to far.
inline constexpr std::array<const char*, 4> kPlacesOfPages = {"device", "peer", "host", "file"};

// Links, and the figures of the statistics that are their sums, in the order of RunHistory::links.
inline constexpr std::array<const char*, 6> kHistoryLinks = {"in",         "out",     "file_read",
                                                             "file_write", "peer_in", "peer_out"};
inline constexpr std::array<const char*, 6> kHistoryLinkSums = {
    "bytes_in", "bytes_out", "bytes_file_read", "bytes_file_written", "bytes_peer_in", "bytes_peer_out"};

struct RunHistory {
  struct Series {  // one number for each slot of time
    std::string name;
    std::vector<double> values;
    double sum() const;
  };
  struct Tag {
    std::string name;
    std::array<std::vector<double>, kPlacesOfPages.size()> bytes;  // by place: means
  };
  struct Block {
    std::string address, tag;
    bool gone = false;
    std::uint64_t bytes = 0, in = 0, out = 0, file_read = 0, file_written = 0, peer_in = 0, peer_out = 0, stalls = 0,
                  stall_ns = 0;
  };

  std::string program;
  double slot_seconds = 0, seconds = 0;  // of a slot, of the run
  std::optional<double> part_from;       // of a part of a run: the seconds before it
  std::vector<Series> links;             // bytes: in, out, file read, file write, peer in, peer out
  std::vector<Series> stalls;            // by cause: nanoseconds
  std::vector<Tag> tags;
  std::vector<Block> blocks;  // the most expensive first
  struct Policy {
    double from = 0;  // seconds
    std::string name;
  };
  std::vector<Policy> policies;  // in order; none in files of versions without it
  nlohmann::ordered_json stats;  // from tessera_stats_json

  std::size_t slots() const { return links.empty() ? 0 : links[0].values.size(); }
  // 0 if the statistics lack it, as those of an earlier version may.
  std::uint64_t figure(const char* group, const char* name) const;
};

// The same history with at most `most` slots, by merging neighbours: more cannot be told apart by eye.
RunHistory with_slots(RunHistory history, std::size_t most);

// "" or why `text` is not a history: it cannot be parsed, or its sums differ from those of its statistics.
std::string parse_history(const std::string& text, RunHistory& history);
// The same for statistics alone: a history without slots, links and tags.
std::string parse_statistics(const std::string& text, RunHistory& history);
