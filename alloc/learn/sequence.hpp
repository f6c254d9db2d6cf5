// Finds out that a program repeats itself, from the signatures of its launches alone.
//
// No marks and no hints: a signature is a hash of a launch's function and runs. The last kContext
// signatures are the context; where the same context was seen before, the distance is a candidate
// for the period, and it is kept as long as the launches agree with those one distance earlier. So
// inner loops give way to the iteration around them: its candidate begins where theirs breaks, and
// what was launched before speaks for it, too.
//
// A learned period survives a break (a validation step, a last smaller batch): kContext launches
// of it in a row, and it is followed again.
//
// Thread safety: none; its owner's lock.
//
// Bounds: kHistory signatures are remembered; a longer period is not found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tessera {

class SequenceLearner {
 public:
  static constexpr std::size_t kContext = 8;
  static constexpr std::size_t kHistory = std::size_t{1} << 18;

  // What a launch turned out to be.
  struct Noted {
    bool learned = false;  // a period was adopted by this launch: it is the last period() launches
    std::optional<std::size_t> position;  // of this launch in the learned period, if it follows it
  };
  Noted note(std::uint64_t signature);
  // As if this period had been learned, and its launch number `last` been the last one.
  void teach(std::vector<std::uint64_t> period, std::size_t last);
  // Launches will be missing from here on. What was learned stays.
  void interrupt();

  // Launches of the learned period; 0 while there is none.
  std::size_t period() const { return learned_.size(); }
  // The launches repeat earlier ones at this moment.
  bool repeats() const { return distance_ != 0; }

 private:
  std::uint64_t at(std::uint64_t index) const { return history_[index % kHistory]; }
  std::uint64_t context_hash() const;
  void follow_candidate(std::uint64_t signature);
  void follow_learned(std::uint64_t signature);
  void look_up_context();
  std::uint64_t agreement(std::uint64_t distance) const;
  void adopt();
  void find_places();

  std::vector<std::uint64_t> history_;  // a ring
  std::uint64_t count_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> seen_;  // context -> launches noted up to its end
  std::uint64_t distance_ = 0;          // the candidate; 0 = none
  std::uint64_t agreed_ = 0;            // launches that agreed with it in a row

  std::vector<std::uint64_t> learned_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  // context -> position of its last launch
  std::optional<std::size_t> position_;
};

}  // namespace tessera
