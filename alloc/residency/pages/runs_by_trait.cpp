#include "residency/pages/runs_by_trait.hpp"

#include <bit>

namespace tessera {
namespace {

constexpr std::size_t kBits = 64;

std::uint8_t traits_of(const Page& page) {
  const auto bit = [](PageTrait trait, bool has) { return static_cast<unsigned>(has) << static_cast<unsigned>(trait); };
  const bool resident = page.state == PageState::kResident, cold = page.state == PageState::kCold;
  const bool peer = page.peer.has_value(), host = page.host.has_value(), file = page.file.has_value();
  return static_cast<std::uint8_t>(
      bit(PageTrait::kResident, resident) | bit(PageTrait::kCopyInPeer, resident && peer) |
      bit(PageTrait::kCopyInHost, resident && host) | bit(PageTrait::kCopyInFile, resident && file) |
      bit(PageTrait::kColdInPeer, cold && peer) | bit(PageTrait::kColdInHost, cold && host) |
      bit(PageTrait::kZeroCopy, page.state == PageState::kZeroCopy) |
      bit(PageTrait::kReachable, page.state == PageState::kReachable));
}

constexpr std::uint64_t bit_of(std::size_t index) { return std::uint64_t{1} << index % kBits; }

}  // namespace

void RunsByTrait::note(Run& run, Page& page) {
  const unsigned now = traits_of(page), changed = page.traits ^ now;
  page.traits = static_cast<std::uint8_t>(now);
  for (unsigned rest = changed; rest != 0; rest &= rest - 1) {
    const auto trait = static_cast<std::size_t>(std::countr_zero(rest));
    const bool has = (now >> trait & 1) != 0;
    std::uint32_t& count = run.pages_with[trait];
    const std::uint32_t others = has ? count++ : --count;
    if (others == 0) set(run.index, trait, has);
  }
}

void RunsByTrait::remove(std::size_t index, std::size_t last) {
  for (std::size_t trait = 0; trait < kPageTraits; ++trait) {
    set(index, trait, has(last, trait));
    set(last, trait, false);
  }
}

bool RunsByTrait::has(std::size_t index, std::size_t trait) const {
  const auto& words = words_[trait];
  return index / kBits < words.size() && (words[index / kBits] & bit_of(index)) != 0;
}

void RunsByTrait::set(std::size_t index, std::size_t trait, bool value) {
  auto& words = words_[trait];
  if (index / kBits >= words.size()) {
    if (!value) return;
    words.resize(index / kBits + 1);
  }
  std::uint64_t& word = words[index / kBits];
  word = value ? word | bit_of(index) : word & ~bit_of(index);
}

std::size_t RunsByTrait::next(std::size_t index, std::size_t trait) const {
  const auto& words = words_[trait];
  std::uint64_t behind = ~(bit_of(index) - 1);  // in the first word only
  for (std::size_t i = index / kBits; i < words.size(); ++i) {
    if (const std::uint64_t found = words[i] & behind; found != 0) {
      return i * kBits + static_cast<std::size_t>(std::countr_zero(found));
    }
    behind = ~std::uint64_t{0};
  }
  return kNone;
}

Status RunsByTrait::validate(const RunList& runs) const {
  std::array<std::size_t, kPageTraits> runs_with{};
  for (const auto& run : runs) {
    std::array<std::uint32_t, kPageTraits> pages_with{};
    for (const Page& page : run->pages) {
      for (std::size_t trait = 0; trait < kPageTraits; ++trait) pages_with[trait] += traits_of(page) >> trait & 1;
    }
    if (pages_with != run->pages_with) return Status(Code::kInternal, "pages by trait do not add up");
    for (std::size_t trait = 0; trait < kPageTraits; ++trait) {
      if (has(run->index, trait) != (pages_with[trait] != 0)) {
        return Status(Code::kInternal, "a run is missing from a trait's list, or listed wrongly");
      }
      runs_with[trait] += pages_with[trait] != 0 ? 1 : 0;
    }
  }
  for (std::size_t trait = 0; trait < kPageTraits; ++trait) {
    std::size_t found = 0;
    for (std::size_t i = next(0, trait); i != kNone; i = next(i + 1, trait)) ++found;
    if (found != runs_with[trait]) return Status(Code::kInternal, "a removed run is listed");
  }
  return {};
}

}  // namespace tessera
