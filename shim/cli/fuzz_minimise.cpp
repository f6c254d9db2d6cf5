// Minimises a failing list of operations by delta debugging (Zeller and Hildebrandt, TSE 2002), with complements only,
// since a small part of a program rarely fails by itself.
#include <algorithm>

#include <fmt/core.h>

#include "fuzz_command.hpp"

std::string kept_text(const std::vector<std::uint32_t>& kept) {
  std::string text;
  for (std::size_t i = 0; i < kept.size();) {
    std::size_t end = i + 1;
    while (end < kept.size() && kept[end] == kept[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end - i == 1 ? fmt::format("{}", kept[i]) : fmt::format("{}-{}", kept[i], kept[end - 1]);
    i = end;
  }
  return text;
}

std::vector<std::uint32_t> minimise(std::vector<std::uint32_t> all, int tries,
                                    const std::function<bool(const std::vector<std::uint32_t>&)>& fails) {
  std::size_t part = std::max<std::size_t>(all.size() / 2, 1);
  while (all.size() > 1) {
    bool shorter = false;
    for (std::size_t start = 0; start < all.size() && all.size() > 1;) {
      if (tries-- <= 0) return all;
      std::vector<std::uint32_t> rest = all;
      const auto from = rest.begin() + static_cast<std::ptrdiff_t>(start);
      rest.erase(from, from + static_cast<std::ptrdiff_t>(std::min(part, rest.size() - start)));
      if (!rest.empty() && fails(rest)) {
        all = std::move(rest);
        shorter = true;
      } else {
        start += part;
      }
    }
    if (part == 1 && !shorter) return all;
    if (!shorter) part = std::max<std::size_t>(part / 2, 1);
    part = std::min(part, std::max<std::size_t>(all.size() / 2, 1));
  }
  return all;
}
