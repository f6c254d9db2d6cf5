// What `tessera run --history FILE` left: read, and held against its own statistics.
//
// Thread safety: values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

// Where pages can be, from near to far.
inline constexpr std::array<const char*, 4> kPlacesOfPages = {"device", "peer", "host", "file"};

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
  std::vector<Series> links;             // in, out, file read, file write, peer in, peer out: bytes
  std::vector<Series> stalls;            // by cause: nanoseconds
  std::vector<Tag> tags;
  std::vector<Block> blocks;             // first the one that cost most
  struct Policy {
    double from = 0;  // seconds
    std::string name;
  };
  std::vector<Policy> policies;          // in turn; none in files of a version without them
  nlohmann::ordered_json stats;          // of tessera_stats_json

  std::size_t slots() const { return links.empty() ? 0 : links[0].values.size(); }
  // 0 when the statistics are of a version without it.
  std::uint64_t figure(const char* group, const char* name) const;
};

// The same with at most so many slots, each for several: for the eye, which gets lost in more.
RunHistory with_slots(RunHistory history, std::size_t most);

// "" or why `text` is no history: it cannot be read, or its sums are not those of its statistics.
std::string parse_history(const std::string& text, RunHistory& history);
