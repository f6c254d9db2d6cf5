#include "base/nearest_word.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t kLettersPerMistake = 5;
constexpr std::size_t kLeastBeforeACut = 4;

// Optimal string alignment distance: insertions, deletions and replacements of letters; a transposition counts as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

bool separates(char letter) { return letter == '_' || letter == '-'; }

// Cut at a word's end it is a different name: FILE_WRITE is not FILE_WRITE_BUDGET.
bool is_cut_off(std::string_view word, std::string_view name) {
  return word.size() >= kLeastBeforeACut && name.size() > word.size() && name.starts_with(word) &&
         !separates(name[word.size()]) && !separates(word.back());
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / kLettersPerMistake) + 1;
  for (const std::string_view known : words) {
    const std::size_t away = is_cut_off(word, known) ? 1 : distance(word, known);
    if (away < least) {
      least = away;
      nearest = known;
    }
  }
  return nearest;
}

}  // namespace tessera
