#include "residency/eviction/run_releases.hpp"

#include <vector>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr int kUnmapTries = 2;

}  // namespace

Status RunReleases::discard(Run& run) {
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    // Pages that are apart are mapped again, and work on the run's last block may not be over.
    if (page->device || page->state == PageState::kEmpty || is_in_host(page->state)) continue;
    // The outcome of the transfer does not matter.
    if (Status status = ends_.settle(page); !status.is_ok()) {
      log_line(LogLevel::kDebug, "a transfer of discarded bytes failed: {}", status.to_string());
    }
    TESSERA_TRY(moves_.releases.discard(page));
  }
  onward_.forget(run);
  return {};
}

// If its copies cannot be waited for, the device is lost and they are over.
Status RunReleases::take_back(Run& run) {
  Status result;
  for (int tries = 0; tries < kUnmapTries; ++tries) {
    result = {};
    std::vector<PageRef> mapped;
    for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
      const PageRef page{&run, i};
      Status settled = ends_.settle(page);
      if (is_apart(page->state)) settled = moves_.partings.give_up(page);
      if (!is_mapped(page->state)) continue;
      mapped.push_back(page);
      if (!settled.is_ok()) result = settled;
    }
    const Status vacated = moves_.mover.vacate(mapped);
    if (vacated.is_ok()) break;
    result = vacated;
  }
  const std::uint64_t stuck = moves_.copies.stuck();
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) moves_.copies.drop_all({&run, i});
  if (result.is_ok() && moves_.copies.stuck() != stuck) {
    return Status(Code::kDriver, "host memory may still be mapped at addresses of the block");
  }
  return result;
}

}  // namespace tessera
