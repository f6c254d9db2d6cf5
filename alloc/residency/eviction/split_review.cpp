#include "residency/eviction/split_review.hpp"

#include <algorithm>
#include <memory>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// At one review, in each direction: some milliseconds.
constexpr Bytes kMostExchanged = 128_MiB;
// Until the next review where that was not all that pays. What is known by then is enough to go on.
constexpr std::uint32_t kNamesBetweenBatches = 64;
// Counts are halved when the average byte of the blocks has been named this often.
constexpr std::uint64_t kAge = 32;

bool may_change(const Run& run) { return run.is_evictable() && !run.recompute && !run.unfinished; }

}  // namespace

std::vector<Run*> SplitReview::partial_blocks() const {
  std::vector<Run*> blocks;
  for (Run& run : engine_.with(PageTrait::kZeroCopy)) {
    Run& block = run.whole();
    if (!block.is_dead() && std::ranges::find(blocks, &block) == blocks.end()) blocks.push_back(&block);
  }
  return blocks;
}

// What was counted before may be of other blocks in the same runs.
void SplitReview::watch() {
  const std::vector<Run*> blocks = partial_blocks();
  for (Run* const block : blocks) {
    if (NamedStarts* const starts = block->starts.load()) {
      starts->clear();
    } else {
      block->starts.store(std::make_unique<NamedStarts>(is_due_).release());
    }
  }
  expect_next(blocks, kLeastNames);
}

void SplitReview::expect_next(std::span<Run* const> blocks, std::uint32_t names) {
  names_ = names;
  is_due_.store(false);
  for (Run* const block : blocks) block->starts.load()->expect(names);
  watches_.store(!blocks.empty());
}

SplitReview::Split SplitReview::split_of(std::span<Run* const> blocks) const {
  Split split{{blocks.begin(), blocks.end()}, {}, {}};
  for (Run* const block : blocks) {
    const std::vector<PageRef> refs = pages_of(*block);
    std::vector<SplitPage> pages;
    for (const PageRef& page : refs) {
      pages.push_back({page.address() - block->address, page.bytes(), page->state == PageState::kZeroCopy});
    }
    count_named(block->starts.load()->stretches(), pages);
    for (std::size_t i = 0; i < refs.size(); ++i) {
      const PageState state = refs[i]->state;
      if (!may_change(*refs[i].run) || (state != PageState::kZeroCopy && state != PageState::kResident)) continue;
      split.pages.push_back(pages[i]);
      split.refs.push_back(refs[i]);
    }
  }
  return split;
}

Result<Run*> SplitReview::revise() {
  std::vector<Run*> blocks = partial_blocks();
  // Nothing was counted of a block that became partial by another way.
  std::erase_if(blocks, [](const Run* block) { return block->starts.load() == nullptr; });
  if (blocks.empty()) {
    least_gain_ = kLeastGain;
    exchanged_ = {};
  }
  expect_next(blocks, std::min(names_ * 2, kMostNames));
  const Split split = split_of(blocks);
  const std::vector<PageExchange> exchanges = exchanges_that_pay(split.pages, least_gain_, kMostExchanged);
  age(split);
  if (exchanges.empty()) return nullptr;
  std::vector<PageRef> in, out;
  for (const PageExchange& each : exchanges) {
    in.push_back(split.refs[each.in]);
    out.push_back(split.refs[each.out]);
  }
  Bytes done;
  TESSERA_TRY_ASSIGN(done, partial_.exchange(in, out));
  if (!done) return nullptr;
  log_line(LogLevel::kDebug, "{} MiB of partial blocks that launches name more often are on the device from now on",
           done / 1_MiB);
  note_exchanged(split, done);
  const bool is_all = total_bytes(in) + in.back().bytes() <= kMostExchanged;
  expect_next(blocks, is_all ? kLeastNames : kNamesBetweenBatches);
  return &in.front().run->whole();
}

// So the counts show how often bytes were named of late, of blocks of any size.
void SplitReview::age(const Split& split) {
  Bytes all, named;
  for (const SplitPage& page : split.pages) {
    all += page.bytes;
    named += page.named;
  }
  const bool is_old = named >= all * kAge;
  for (Run* const block : split.blocks) {
    NamedStarts& starts = *block->starts.load();
    if (starts.is_full()) {
      starts.clear();
    } else if (is_old) {
      starts.halve();
    }
  }
}

void SplitReview::note_exchanged(const Split& split, Bytes bytes) {
  Bytes on_device;
  for (const SplitPage& page : split.pages) on_device += page.in_host ? Bytes() : page.bytes;
  exchanged_ += bytes;
  if (exchanged_ < on_device) return;
  exchanged_ = {};
  least_gain_ = std::min(least_gain_ * 2, kMostGain);
}

}  // namespace tessera
