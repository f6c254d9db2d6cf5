#include "pointer_table_walk.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::preload {
namespace {

class TableWalk {
 public:
  TableWalk(const TableHolders& holders, const PointerStretches& stretches, const PointerEntries& entries, Words& words)
      : holders_(holders), stretches_(stretches), entries_(entries), words_(words) {}

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
  using Stretch = PointerStretches::At;
  using Holder = TableHolders::Holder;

  // Adds the entries of a stretch, once: from `word` on, then from its beginning.
  void add(Stretch stretch, CUdeviceptr word, std::vector<std::uint64_t>& to) {
    if (!named_.insert(stretch->first).second) return;
    const auto add_from = [&](CUdeviceptr begin, CUdeviceptr end) {
      entries_.visit(begin, end, [&](CUdeviceptr, CUdeviceptr pointee) {
        to.push_back(pointee);
        queue_.push_back(pointee);
      });
    };
    const CUdeviceptr first = std::clamp(word, stretch->first, stretch->second.end);
    add_from(first, stretch->second.end);
    add_from(stretch->first, first);
  }

  void follow_near(std::vector<std::uint64_t>& fresh, std::vector<std::uint64_t>& passed) {
    for (; next_ < queue_.size(); ++next_) {  // the loop appends to it
      const CUdeviceptr word = queue_[next_];
      const auto holder = holders_.of(word);
      if (!holder) continue;
      given_[*holder].insert(word);
      const bool whole = holder->second - holder->first < kSharedBlock;
      const auto [begin, end] = whole ? *holder : Holder(word, word + 1);
      stretches_.for_each(begin, end,
                          [&](Stretch stretch) { add(stretch, word, stretch->second.is_passed() ? passed : fresh); });
    }
  }

  // Follows the remaining stretches of the blocks seen so far. False when there are none left.
  bool follow_far() {
    std::vector<std::tuple<bool, std::uint64_t, Stretch>> rest;  // before all words, distance
    for (const auto& given : given_) {
      const std::set<CUdeviceptr>& words = given.second;
      stretches_.for_each(given.first.first, given.first.second, [&](Stretch stretch) {
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
      stretches_.for_each(*words.begin(), holder.second, [](Stretch stretch) { stretch->second.pass(); });
    }
  }

  const TableHolders& holders_;
  const PointerStretches& stretches_;
  const PointerEntries& entries_;
  Words& words_;
  std::vector<std::uint64_t> queue_;
  std::size_t next_ = 0;
  std::map<Holder, std::set<CUdeviceptr>> given_;  // the words in each holder
  std::set<CUdeviceptr> named_;                    // stretches already added, by first byte
  std::vector<std::uint64_t> near_, passed_, far_;
};

}  // namespace

void walk_tables(const TableHolders& holders, const PointerStretches& stretches, const PointerEntries& entries,
                 Words& words) {
  TableWalk(holders, stretches, entries, words).go();
}

}  // namespace tessera::preload
