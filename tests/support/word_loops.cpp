#include "word_loops.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "sim/sim_kernel.h"

namespace tessera {

void fill_words(std::span<std::uint64_t> words, std::uint64_t seed, std::uint64_t stride) {
  for (std::size_t i = 0; i < words.size(); i += stride) words[i] = word_pattern(seed, i);
}

std::uint64_t wrong_words(std::span<const std::uint64_t> words, std::uint64_t seed, std::uint64_t stride) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < words.size(); i += stride) wrong += words[i] == word_pattern(seed, i) ? 0 : 1;
  return wrong;
}

bool all_are(std::span<const std::uint32_t> words, std::uint32_t pattern) {
  return std::all_of(words.begin(), words.end(), [pattern](std::uint32_t word) { return word == pattern; });
}

bool all_are(std::span<const std::uint8_t> bytes, std::uint8_t value) {
  return std::all_of(bytes.begin(), bytes.end(), [value](std::uint8_t byte) { return byte == value; });
}

int run_churn_block(const sim_block* block, const void* parameters) {
  struct {
    std::uint32_t* data;
    std::uint32_t count;
    std::uint32_t rounds;
  } p;
  std::memcpy(&p, parameters, sizeof(p));
  const std::uint32_t first = block->index[0] * block->block[0];
  const std::uint32_t end = std::min(first + block->block[0], p.count);
  for (std::uint32_t i = first; i < end; ++i) {
    std::uint32_t value = p.data[i];
    for (std::uint32_t round = 0; round < p.rounds; ++round) value = value * 1664525U + 1013904223U;
    p.data[i] = value;
  }
  return 0;
}

}  // namespace tessera
