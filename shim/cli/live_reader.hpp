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

// The clock of the pages: CLOCK_MONOTONIC.
std::uint64_t live_now_ns();

// A snapshot of a process.
struct LiveSample {
  std::uint64_t written_ns = 0;
  std::string text;  // output of tessera_stats_json
};

class LivePage {
 public:
  // Null if `path` is not such a page, or not that of `pid`.
  static std::unique_ptr<LivePage> open(const std::string& path, int pid);
  ~LivePage();
  LivePage(const LivePage&) = delete;
  LivePage& operator=(const LivePage&) = delete;

  // Asks the process to keep writing for `ns`.
  void watch_for(std::uint64_t ns);
  // The newest sample; none before the first one, or if the writer stopped in mid-write.
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

// Sorted by process id. A process with several allocators appears once for each.
std::vector<LiveProcess> live_processes();
