// The blocks that a launch reaches through tables, directly and through further tables.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "pointer_tables.hpp"

namespace tessera::preload {

// A single walk. REQUIRES: the tables' lock is held during its lifetime.
class PointerTableWalk {
 public:
  PointerTableWalk(const PointerTables& tables, Words& words) : tables_(tables), words_(words) {}

  void go() {
    queue_ = WordSpans(words_).in_a_row();
    follow_near(near_, passed_);
    while (follow_far()) follow_near(far_, far_);
    std::vector<std::uint64_t> maybe = std::move(near_);
    maybe.insert(maybe.end(), words_.maybe.begin(), words_.maybe.end());
    maybe.insert(maybe.end(), passed_.begin(), passed_.end());
    maybe.insert(maybe.end(), far_.begin(), far_.end());
    words_.maybe = std::move(maybe);
    note_passed();
  }

 private:
  using Stretches = PointerTables::Stretches;
  using Holder = std::pair<CUdeviceptr, CUdeviceptr>;  // first byte, end

  // Calls act(stretch) for every stretch in [begin, end).
  template <class Act>
  void for_each_stretch(const Holder& holder, Act act) const {
    auto at = tables_.stretch_at_or_behind(holder.first);
    for (; at != tables_.stretches_.end() && at->first < holder.second; ++at) act(at);
  }

  // Adds the entries of a stretch, once: from `word` on, then from its beginning.
  void add(Stretches::const_iterator stretch, CUdeviceptr word, std::vector<std::uint64_t>& to) {
    if (!named_.insert(stretch->first).second) return;
    const auto add_from = [&](CUdeviceptr begin, CUdeviceptr end) {
      const auto last = tables_.entries_.lower_bound(end);
      for (auto at = tables_.entries_.lower_bound(begin); at != last; ++at) {
        to.push_back(at->second);
        queue_.push_back(at->second);
      }
    };
    const CUdeviceptr first = std::clamp(word, stretch->first, stretch->second.end);
    add_from(first, stretch->second.end);
    add_from(stretch->first, first);
  }

  void follow_near(std::vector<std::uint64_t>& fresh, std::vector<std::uint64_t>& passed) {
    for (; next_ < queue_.size(); ++next_) {  // the loop appends to it
      const CUdeviceptr word = queue_[next_];
      if (!tables_.page_of(word).load(std::memory_order_relaxed)) continue;
      auto holder = tables_.holders_.upper_bound(word);
      if (holder == tables_.holders_.begin() || word >= (--holder)->second) continue;
      given_[*holder].insert(word);
      const bool whole = holder->second - holder->first < PointerTables::kShared;
      for_each_stretch(whole ? Holder(*holder) : Holder(word, word + 1), [&](auto stretch) {
        add(stretch, word, stretch->second.passed.load(std::memory_order_relaxed) ? passed : fresh);
      });
    }
  }

  // Follows the remaining stretches of the blocks seen so far. False when there are none left.
  bool follow_far() {
    std::vector<std::tuple<bool, std::uint64_t, Stretches::const_iterator>> rest;  // before all words, distance
    for (const auto& given : given_) {
      const std::set<CUdeviceptr>& words = given.second;
      for_each_stretch(given.first, [&](auto stretch) {
        if (named_.contains(stretch->first)) return;
        const auto behind = words.upper_bound(stretch->first);
        const bool before = behind == words.begin();
        rest.emplace_back(before, before ? *behind - stretch->first : stretch->first - *std::prev(behind), stretch);
      });
    }
    std::sort(rest.begin(), rest.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
    for (const auto& [before, distance, stretch] : rest) add(stretch, stretch->first, far_);
    return !rest.empty();
  }

  // The kernel may write from each word to the end of its block.
  void note_passed() const {
    for (const auto& [holder, words] : given_) {
      for_each_stretch(Holder(*words.begin(), holder.second),
                       [](auto stretch) { stretch->second.passed.store(true, std::memory_order_relaxed); });
    }
  }

  const PointerTables& tables_;
  Words& words_;
  std::vector<std::uint64_t> queue_;
  std::size_t next_ = 0;
  std::map<Holder, std::set<CUdeviceptr>> given_;  // the words in each holder
  std::set<CUdeviceptr> named_;                    // stretches already added, by first byte
  std::vector<std::uint64_t> near_, passed_, far_;
};

void PointerTables::add_pointees(Words& words) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  PointerTableWalk(*this, words).go();
}

}  // namespace tessera::preload
