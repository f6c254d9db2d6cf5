// Traces for tests, from text.
//
// Thread safety: stateless.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "lab/replay/trace_reader.hpp"

namespace tessera {

inline Trace trace_of(const std::string& text) {
  std::istringstream lines(text);
  auto trace = read_trace(lines, "t");
  EXPECT_TRUE(trace.is_ok()) << trace.status().to_string();
  return trace.is_ok() ? trace.take() : Trace();
}

inline std::string alloc_line(std::uint64_t id, Bytes bytes) {
  return "{\"t\":\"alloc\",\"id\":" + std::to_string(id) + ",\"bytes\":" + std::to_string(bytes.value()) + "}\n";
}

// An operation on one block; `use` is "r" or "w".
inline std::string op_line(std::uint64_t nanoseconds, const char* use, std::uint64_t id) {
  return "{\"t\":\"op\",\"name\":\"op\",\"ns\":" + std::to_string(nanoseconds) + ",\"" + use + "\":[" +
         std::to_string(id) + "]}\n";
}

// `blocks` blocks of up to 64 MiB, used and replaced at random.
inline std::string random_trace(std::uint64_t seed, int blocks, int ops) {
  std::mt19937_64 random(seed);
  std::string text;
  std::uint64_t next = 1;
  std::vector<std::uint64_t> live;
  const auto allocate = [&] {
    text += alloc_line(next, Bytes(1 + random() % (64_MiB).value()));
    live.push_back(next++);
  };
  for (int i = 0; i < blocks; ++i) allocate();
  for (int i = 0; i < ops; ++i) {
    const std::size_t at = random() % live.size();
    text += op_line(random() % 100'000, random() % 2 == 0 ? "r" : "w", live[at]);
    if (random() % 8 != 0) continue;
    text += "{\"t\":\"free\",\"id\":" + std::to_string(live[at]) + "}\n";
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    allocate();
  }
  return text;
}

}  // namespace tessera
