// The writer of the page in tessera/live.h: statistics for whoever of the same user looks on.
//
// Thread safety: one writer; wanted() and publish() on one thread. Readers are other processes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.hpp"
#include "tessera/live.h"

namespace tessera {

class LiveBoard {
 public:
  // Errors: kIo.
  static Result<std::unique_ptr<LiveBoard>> open();
  // The same; null, with a line about it, where it cannot be had.
  static std::unique_ptr<LiveBoard> open_if_possible();
  ~LiveBoard();

  // Whether a reader asked for news. Costs a look at the clock.
  bool wanted() const;
  // What does not fit (kCapacity) is not shown at all.
  void publish(std::string_view text);

  static constexpr std::size_t kCapacity = TESSERA_LIVE_WORDS * sizeof(std::uint64_t);

 private:
  LiveBoard(tessera_live* page, int file) : page_(page), file_(file) {}

  tessera_live* const page_;
  const int file_;  // stays open: it is how readers find the page
};

}  // namespace tessera
