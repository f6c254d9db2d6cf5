// Loops over the words of blocks, for tests: they fill, compare and compute. Tests are compiled without optimisation,
// and under a thread sanitizer such a loop then takes nearly all of a test's time; word_loops.cpp is optimised in every
// build.
//
// Thread safety: functions of their arguments.
#pragma once

#include <cstdint>
#include <span>

struct sim_block;

namespace tessera {

// A word that tells its place and what wrote it.
constexpr std::uint64_t word_pattern(std::uint64_t seed, std::uint64_t i) {
  return (seed + 1) * 0x9e3779b97f4a7c15u ^ (i * 0xd1342543de82ef95u);
}
// In every word, or in one of `stride` words.
void fill_words(std::span<std::uint64_t> words, std::uint64_t seed, std::uint64_t stride = 1);
// How many of these differ.
std::uint64_t wrong_words(std::span<const std::uint64_t> words, std::uint64_t seed, std::uint64_t stride = 1);

bool all_are(std::span<const std::uint32_t> words, std::uint32_t pattern);
bool all_are(std::span<const std::uint8_t> bytes, std::uint8_t value);

// void churn(uint32_t* data, uint32_t count, uint32_t rounds), one thread per element: a kernel of the simulated
// device.
int run_churn_block(const sim_block* block, const void* parameters);

}  // namespace tessera
