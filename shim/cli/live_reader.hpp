// Reads the pages (tessera/live.h) of this user's processes that run under Tessera.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/live.h"

// One look at a process.
struct LiveSample {
  std::uint64_t written_ns = 0;
  std::string text;  // what tessera_stats_json gives
};

class LivePage {
 public:
  // Null when `path` is no such page, or not that of `pid`.
  static std::unique_ptr<LivePage> open(const std::string& path, int pid);
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  // Asks the process to write for that long.
  void watch_for(std::uint64_t ns);
  // The newest; none before the first, or when the writer stopped in the middle.
  std::optional<LiveSample> read() const;

 private:
  explicit LivePage(tessera_live* page) : page_(page) {}

  tessera_live* const page_;
};

struct LiveProcess {
  int pid = 0;
  std::string name;
  std::unique_ptr<LivePage> page;
};

// By process id. A process with several allocators is there once for each.
std::vector<LiveProcess> live_processes();
