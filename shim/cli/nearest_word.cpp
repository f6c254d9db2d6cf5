#include "nearest_word.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace {

constexpr std::size_t kLettersPerMistake = 4;

// Letters to insert, remove or replace.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row = {i};
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row.push_back(std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1}));
    }
    last = std::move(row);
  }
  return last.back();
}

}  // namespace

std::string nearest_word(const std::string& word, const std::vector<std::string>& words) {
  std::string nearest;
  std::size_t least = word.size() / kLettersPerMistake + 2;
  for (const std::string& known : words) {
    const std::size_t away = distance(word, known);
    if (away < least) {
      least = away;
      nearest = known;
    }
  }
  return nearest;
}
