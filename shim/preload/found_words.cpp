#include "found_words.hpp"

namespace tessera::preload {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kTelling = 5;  // the byte that is compared, little endian
constexpr std::size_t kStride = 64;

std::uint8_t telling_byte(std::uint64_t address) {
  return static_cast<std::uint8_t>(address >> 8 * kTelling);
}

// Whether any of kStride bytes is in [low, low + span]. Of constant length, so that it is vectorised.
bool any_in(const std::uint8_t* bytes, std::uint8_t low, std::uint8_t span) {
  std::uint8_t any = 0;
  for (std::size_t i = 0; i < kStride; ++i) {
    const auto above = static_cast<std::uint8_t>(bytes[i] - low);
    any = static_cast<std::uint8_t>(any | (above <= span ? 1 : 0));
  }
  return any != 0;
}

}  // namespace

void FoundWords::add_to_many(std::uint64_t word) {
  if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
  many_.push_back(word);
  ++count_;
}

void FoundWords::scan(const void* begin, std::size_t bytes) {
  if (bytes < kWord || bytes_ == 0) return;
  const auto* const at = static_cast<const std::uint8_t*>(begin);
  const std::size_t end = bytes - kWord + 1;  // of the positions where a word may begin
  const std::uint64_t last = low_ + bytes_ - 1;
  const bool one_byte_tells = low_ >> 8 * (kTelling + 1) == last >> 8 * (kTelling + 1);
  const std::uint8_t least = telling_byte(low_);
  const auto span = static_cast<std::uint8_t>(telling_byte(last) - least);
  std::size_t i = 0;
  for (; one_byte_tells && i + kStride <= end; i += kStride) {
    if (!any_in(at + i + kTelling, least, span)) continue;
    for (std::size_t k = i; k < i + kStride; ++k) look_at(at + k);
  }
  for (; i < end; ++i) look_at(at + i);
}

}  // namespace tessera::preload
