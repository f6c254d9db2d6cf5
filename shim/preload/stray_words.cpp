#include "stray_words.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernel_layouts.hpp"
#include "lifecycle.hpp"
#include "mapped_memory.hpp"
#include "parameter_words.hpp"

namespace tessera::preload {
namespace {

constexpr std::size_t kMostNumbers = 32;
constexpr std::size_t kMostMeant = 16;
constexpr std::array<CUdeviceptr, 5> kElementBytes = {4, 8, 2, 1, 16};
constexpr std::array<CUdeviceptr, 4> kBlocksBeginAt = {512, 4 << 10, 64 << 10, 2 << 20};  // alignments

// The 8-byte numbers among a launch's parameters that are not addresses.
class GivenNumbers {
 public:
  explicit GivenNumbers(const GivenParameters& given) {
    const std::span<const char> packed = packed_parameters(given.extra);
    add_all(packed.data(), packed.size());
    if (given.parameters == nullptr) return;
    KernelLayouts::visit(given.function, [&](const char*, std::span<const ParameterPlace> places) {
      for (const ParameterPlace& place : places) add_all(given.parameters[place.index], place.bytes);
    });
  }
  const std::vector<std::uint64_t>& all() const { return numbers_; }

 private:
  void add_all(const void* begin, std::size_t bytes) {
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bytes && numbers_.size() < kMostNumbers;
         i += sizeof(std::uint64_t)) {
      std::uint64_t number = 0;
      std::memcpy(&number, static_cast<const char*>(begin) + i, sizeof(number));
      if (number != 0 && !managed(number)) numbers_.push_back(number);
    }
  }

  std::vector<std::uint64_t> numbers_;
};

void look_behind(CUdeviceptr stray, std::vector<std::uint64_t>& meant) {
  tessera_block_info block;
  for (const CUdeviceptr multiple : kBlocksBeginAt) {
    const CUdeviceptr place = (stray + multiple - 1) / multiple * multiple;
    if (place - stray > kReach || !managed(place) || !find_block(place, block)) continue;
    return meant.push_back(place);
  }
}

std::vector<std::uint64_t> meant_by(CUdeviceptr stray, const GivenNumbers& numbers) {
  std::vector<std::uint64_t> first_bytes, others;
  tessera_block_info block;
  for (const std::uint64_t number : numbers.all()) {
    for (const CUdeviceptr bytes : kElementBytes) {
      const CUdeviceptr place = stray + number * bytes;  // also for negative numbers
      if (!managed(place) || !find_block(place, block)) continue;
      (block.address == place ? first_bytes : others).push_back(place);
    }
  }
  first_bytes.insert(first_bytes.end(), others.begin(), others.end());
  if (first_bytes.empty()) look_behind(stray, first_bytes);
  if (first_bytes.size() > kMostMeant) first_bytes.resize(kMostMeant);
  return first_bytes;
}

}  // namespace

Words without_strays(const WordSpans& words, const GivenParameters& given) {
  const GivenNumbers numbers(given);
  Words live;
  tessera_block_info block;
  MappedRange range;
  for (const std::uint64_t word : words.certain) {
    if (!managed(word)) continue;  // foreign
    if (find_block(word, block) || find_mapped_range(word, range)) {
      live.certain.push_back(word);
      continue;
    }
    const std::vector<std::uint64_t> meant = meant_by(word, numbers);
    live.maybe.insert(live.maybe.end(), meant.begin(), meant.end());
  }
  live.append(WordSpans{{}, words.likely, words.maybe});
  return live;
}

}  // namespace tessera::preload
