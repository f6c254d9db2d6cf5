// Writes the page defined in tessera/live.h: statistics for readers of the same user.
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
  // The same; null where that fails, which is logged.
  static std::unique_ptr<LiveBoard> open_if_possible();
  ~LiveBoard();

  // Whether a reader has asked for an update. Costs one clock read.
  bool wanted() const;
  // Text longer than kCapacity is not published at all.
  void publish(std::string_view text);

  static constexpr std::size_t kCapacity = TESSERA_LIVE_WORDS * sizeof(std::uint64_t);

 private:
  LiveBoard(tessera_live* page, int file) : page_(page), file_(file) {}

  tessera_live* const page_;
  const int file_;  // stays open: readers find the page through it
};

}  // namespace tessera
