// Samples of this user's running programs, for `tessera top` and `tessera metrics`.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "live_reader.hpp"
#include "top_view.hpp"

// A program checks four times a second whether it is watched. On a busy machine an answer takes longer, and a stopped
// program does not answer at all.
inline constexpr std::chrono::duration<double> kLongestAnswer{3};

class LiveSampler {
 public:
  // The current processes, with what happened since the last call; asks them to keep writing for `wanted`.
  std::vector<TopRow> look(std::chrono::duration<double> wanted);

 private:
  using Key = std::pair<int, int>;  // a process, and which of its allocators

  std::map<Key, TopRow> last_;
};

// Returns when each program has written once more, or after kLongestAnswer; asks them to keep writing for `wanted`.
void await_answers(std::chrono::duration<double> wanted);
