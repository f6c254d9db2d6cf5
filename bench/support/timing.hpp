// What measurements by hand have in common: how long something takes, and the middle of several.
//
// Thread safety: stateless.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace tessera::bench {

inline double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// REQUIRES: not empty.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace tessera::bench
