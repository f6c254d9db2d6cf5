#include "found_words.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <bit>

#include "division_numbers.hpp"

namespace tessera::preload {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kStride = 16;
constexpr std::uint64_t kBlockAlignment = 512;  // of every block of the heap

std::uint8_t byte_of(std::uint64_t address, unsigned byte) { return static_cast<std::uint8_t>(address >> 8 * byte); }

// The values that one byte of an address may have.
class ByteRange {
 public:
  ByteRange(std::uint8_t least, std::uint8_t most)
      : least_(_mm_set1_epi8(static_cast<char>(least))), span_(_mm_set1_epi8(static_cast<char>(most - least))) {}

  // Marks those of the 16 bytes at `at` that are in the range.
  __m128i within(const std::uint8_t* at) const {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i above = _mm_sub_epi8(bytes, least_);
    return _mm_cmpeq_epi8(_mm_min_epu8(above, span_), above);
  }

 private:
  __m128i least_;
  __m128i span_;
};

void sort_each_once(std::vector<std::uint64_t>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

void append_to(std::vector<std::uint64_t>& words, std::span<const std::uint64_t> more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

void Words::append(const WordSpans& more) {
  append_to(certain, more.certain);
  append_to(likely, more.likely);
  append_to(maybe, more.maybe);
}

void Words::append(const Words& more) {
  append(WordSpans(more));
  any_block = any_block || more.any_block;
  append_to(given, more.given);
  copies.insert(copies.end(), more.copies.begin(), more.copies.end());
}

void Words::keep_each_once() {
  sort_each_once(certain);
  sort_each_once(likely);
  sort_each_once(maybe);
  sort_each_once(given);
}

std::vector<std::uint64_t> WordSpans::in_a_row() const {
  std::vector<std::uint64_t> all;
  all.reserve(certain.size() + likely.size() + maybe.size());
  append_to(all, certain);
  append_to(all, likely);
  append_to(all, maybe);
  return all;
}

void FoundWords::add_to_many(std::uint64_t word) {
  if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
  many_.push_back(word);
  ++count_;
}

Words& FoundWords::doubtful() {
  if (doubtful_ == nullptr) doubtful_ = std::make_unique<Words>();
  return *doubtful_;
}

void FoundWords::look_inside(const std::uint8_t* begin, std::size_t bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, begin + at, sizeof(word));
  if (word - low_ >= bytes_) return;
  const bool aligned = at % kWord == 0;
  if (!is_low(low_)) {
    if (aligned) return add(word);
    return doubtful().maybe.push_back(word);
  }
  if (is_division(begin, bytes, at)) return;
  if (aligned) return doubtful().likely.push_back(word);
  if (word % kBlockAlignment == 0) doubtful().maybe.push_back(word);
}

void FoundWords::scan(const void* begin, std::size_t bytes) {
  if (bytes < kWord || bytes_ == 0) return;
  const auto* const first = static_cast<const std::uint8_t*>(begin);
  const std::size_t end = bytes - kWord + 1;  // end of the positions where a word may begin
  const std::uint64_t last = low_ + bytes_ - 1;
  std::size_t i = 0;
  if (low_ >> 48 == last >> 48) {
    const bool one_sixth = byte_of(low_, 5) == byte_of(last, 5);
    const ByteRange sixth(byte_of(low_, 5), byte_of(last, 5));
    const ByteRange fifth(one_sixth ? byte_of(low_, 4) : 0, one_sixth ? byte_of(last, 4) : 255);
    for (; i + kStride <= end; i += kStride) {
      const __m128i both = _mm_and_si128(fifth.within(first + i + 4), sixth.within(first + i + 5));
      for (auto hits = static_cast<unsigned>(_mm_movemask_epi8(both)); hits != 0; hits &= hits - 1) {
        look_inside(first, bytes, i + static_cast<std::size_t>(std::countr_zero(hits)));
      }
    }
  }
  for (; i < end; ++i) look_inside(first, bytes, i);
}

}  // namespace tessera::preload
