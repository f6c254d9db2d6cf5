#include "block/placed_blocks.hpp"

#include <algorithm>
#include <utility>

#include "block/bundle.hpp"
#include "plan/planner.hpp"

namespace tessera {
namespace {

// What was made before a row was known has runs of its own this time. If it is this part of the row at most it
// keeps them, and this time is like all to come.
constexpr std::size_t kHead = 8;

std::uint64_t kind_of(StreamId stream, TagId tag) {
  return stream.value() * 0x9e3779b97f4a7c15 ^ tag.value();
}

std::vector<PagedBlock> paged(const AllocationRow& row, Bytes limit) {
  const std::size_t made = row.last + 1;
  const std::size_t head = made <= row.blocks.size() / kHead ? made : 0;
  const std::uint64_t end = 2 * row.blocks.size();  // there are no more steps
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

PlacedBlocks::Asked PlacedBlocks::ask(Bytes bytes, StreamId stream, TagId tag, bool is_short) {
  MutexLock lock(mutex_);
  const std::uint64_t number = log_.note(bytes, kind_of(stream, tag));
  const bool is_over = !is_short && number >= AllocationLog::kMost;
  is_over_.store(is_over, std::memory_order_relaxed);
  if (is_over) {
    log_.interrupt();
    return {};
  }
  Row* row = followed();
  const bool is_known = row != nullptr;
  if (!is_known) row = learn(number);
  if (row == nullptr || !is_short) return {number, bytes, std::nullopt, 0};
  row->followed = number;
  return {number, bytes, row->spots[*row->place.position()], is_known ? 0 : row->spots.size()};
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

void PlacedBlocks::note_served(const Asked& asked, std::optional<Address> address) {
  if (!asked.bytes) return;
  MutexLock lock(mutex_);
  if (address) return log_.note_served(asked.number, asked.bytes, *address);
  log_.note_failed(asked.bytes);
}

void PlacedBlocks::note_freed(Address address, bool is_alone) {
  MutexLock lock(mutex_);
  log_.note_freed(address, is_alone);
}

std::vector<Bytes> PlacedBlocks::places_of(std::uint32_t run) const {
  MutexLock lock(mutex_);
  const auto known = places_.find(run);
  return known == places_.end() ? std::vector<Bytes>() : known->second;
}

}  // namespace tessera
