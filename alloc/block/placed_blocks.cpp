#include "block/placed_blocks.hpp"

#include <algorithm>
#include <utility>

#include "block/bundle.hpp"
#include "planning/shared_runs.hpp"

namespace tessera {
namespace {

// Blocks allocated before the row was known have runs of their own in this pass. If they are at most this
// fraction of the row they keep them in all passes, so this pass is like all later ones.
constexpr std::size_t kHead = 8;

std::uint64_t kind_of(StreamId stream, TagId tag) { return stream.value() * 0x9e3779b97f4a7c15 ^ tag.value(); }

std::vector<PagedBlock> paged(const AllocationRow& row, Bytes limit) {
  const std::size_t made = row.last + 1;
  const std::size_t head = made <= row.blocks.size() / kHead ? made : 0;
  const std::uint64_t end = 2 * row.blocks.size();  // past the last step
  std::vector<PagedBlock> blocks;
  for (std::size_t i = 0; i < row.blocks.size(); ++i) {
    const AllocationRow::Block& block = row.blocks[i];
    const bool wastes = block.bytes % kBasePage != Bytes() && block.bytes < limit;
    blocks.push_back({.bytes = block.bytes,
                      .begin = block.begin,
                      .end = block.end == 0 ? std::max(end, block.begin + 1) : block.end,
                      .kind = block.kind,
                      .may_share = i >= head && wastes && block.end != 0 && !block.is_alone});
  }
  return blocks;
}

}  // namespace

PlacedBlocks::Asked PlacedBlocks::ask(Bytes bytes, StreamId stream, TagId tag, bool is_short, bool sizes_vary) {
  MutexLock lock(mutex_);
  const std::uint64_t number = log_.note(bytes, kind_of(stream, tag));
  const bool is_over = !is_short && number >= AllocationLog::kMost;
  is_over_.store(is_over, std::memory_order_relaxed);
  if (is_over) {
    log_.interrupt();
    return {};
  }
  Row* row = followed();
  if (row == nullptr) row = learn(number);
  if (row == nullptr || !is_short || (sizes_vary && !row->places)) return {number, bytes, std::nullopt, {}};
  row->followed = number;
  const bool begins = !std::exchange(row->places, true);
  return {number, bytes, row->spots[*row->place.position()], begins ? moved_by(*row) : std::vector<MovedBlock>()};
}

// The allocation just requested is placed. Those before it, back to the first that did not follow the row, had
// runs of their own (or are skipped).
std::vector<MovedBlock> PlacedBlocks::moved_by(const Row& row) const {
  struct Blocks {
    std::uint64_t end_step = 0;  // of the latest block
    Epoch freed{};               // the same
    bool lives = false;          // one of the blocks is still live
  };
  std::unordered_map<std::uint32_t, Blocks> before;  // by run
  std::vector<MovedBlock> moved;
  const std::size_t length = row.spots.size(), last = *row.place.position();
  for (std::size_t back = log_.kept_to(row.place.signatures(), last); back-- > 1;) {
    const std::optional<Spot>& spot = row.spots[(last + length - back % length) % length];
    const auto& [block, signature, lived, stay] = log_.before_last(back);
    if (!spot || !stay.has_own_run) continue;
    Blocks& others = before[spot->run];
    const bool begins = !others.lives && others.end_step <= block.begin;
    moved.push_back({.run = stay.address.value(),
                     .made = stay.made,
                     .freed = stay.freed,
                     .to = Bundle::name_of(spot->run),
                     .bytes = Bundle::run_bytes(places_.at(spot->run)),
                     .freed_before = begins ? std::optional(others.freed) : std::nullopt});
    others = {std::max(others.end_step, block.end), std::max(others.freed, stay.freed), others.lives || block.end == 0};
  }
  return moved;
}

PlacedBlocks::Row* PlacedBlocks::followed() {
  for (Row& row : rows_) row.place.note(log_.signature(), log_.context());
  const auto found = std::ranges::find_if(rows_, [](const Row& row) { return row.place.position().has_value(); });
  return found == rows_.end() ? nullptr : &*found;
}

PlacedBlocks::Row* PlacedBlocks::learn(std::uint64_t number) {
  const std::size_t length = log_.begun_again();
  if (length == 0 || number < planned_ + length / 2) return nullptr;
  planned_ = number;
  const AllocationRow learned = log_.row();
  const SharingLimits limits{std::min(limit_, spare_()), Bundle::kMostPlaces, kBlockAlignment};
  const std::vector<PagedBlock> blocks = paged(learned, limits.run);
  const SharedRuns shared = share_runs(blocks, learned.beside, limits);
  if (shared.runs.empty()) return nullptr;
  if (rows_.size() == kMostRows) make_place();
  Row row{PeriodPlace(learned.signatures, learned.last), {}, runs_, runs_, number};
  row.spots.resize(blocks.size());
  for (const std::vector<std::uint32_t>& run : shared.runs) {
    std::vector<Bytes>& places = places_[row.end_run];
    for (const std::uint32_t block : run) {
      row.spots[block] = Spot{row.end_run, static_cast<std::uint32_t>(places.size())};
      places.push_back(Bundle::place_bytes(blocks[block].bytes));
    }
    ++row.end_run;
  }
  runs_ = row.end_run;
  rows_.push_back(std::move(row));
  return &rows_.back();
}

void PlacedBlocks::make_place() {
  const auto oldest = std::ranges::min_element(rows_, {}, &Row::followed);
  for (std::uint32_t run = oldest->first_run; run < oldest->end_run; ++run) places_.erase(run);
  rows_.erase(oldest);
}

void PlacedBlocks::note_served(const Asked& asked, const std::optional<AllocationLog::Stay>& stay) {
  if (!asked.bytes) return;
  MutexLock lock(mutex_);
  if (stay) return log_.note_served(asked.number, asked.bytes, *stay);
  log_.note_failed(asked.bytes);
}

void PlacedBlocks::note_freed(Address address, bool is_alone, Epoch epoch) {
  MutexLock lock(mutex_);
  log_.note_freed(address, is_alone, epoch);
}

std::vector<Bytes> PlacedBlocks::places_of(std::uint32_t run) const {
  MutexLock lock(mutex_);
  const auto known = places_.find(run);
  return known == places_.end() ? std::vector<Bytes>() : known->second;
}

}  // namespace tessera
