#include "metadata.hpp"

#include <memory>

#include "must.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"

namespace tessera::bench {
namespace {

// A node of a tree or of a hash table holds links of this size besides its value.
constexpr std::uint64_t kTreeLinks = 32;
constexpr std::uint64_t kHashLinks = 24;  // including its entry in the bucket array

// Of a slab with a whole page. (The first few slots of a class are in a shared page, which has as many words as a page
// of the smallest slots.)
std::uint64_t bytes_of_slab(SizeClass size_class) {
  const std::uint64_t slots = kBasePage / size_class.bytes();
  const std::uint64_t lines =
      round_up(Bytes(slots), Bytes(Slab::line_slots(size_class.bytes()))) / Bytes(Slab::line_slots(size_class.bytes()));
  return sizeof(Slab) + lines * 64 + (slots + 63) / 64 * 8 + 2 * sizeof(void*) + kHashLinks;
}

std::uint64_t bytes_of_run(RunShape shape) {
  return sizeof(Run) + shape.pages() * sizeof(Page) + sizeof(void*) +
         // the page manager's entry: position, run, shape, domain
         kTreeLinks + 2 * sizeof(std::uint64_t) + sizeof(RunShape) + sizeof(Domain);
}

}  // namespace

// The blocks are really allocated, so that the counts of slabs and runs are those of a million blocks.
Metadata metadata_of(Bytes block_bytes, std::uint64_t blocks) {
  const SizeClass size_class = *size_class_for(block_bytes);
  const Bytes memory = round_up(size_class.bytes() * blocks * 11 / 10, 1_GiB) + 1_GiB;
  SteadyClock clock;
  SimDriver driver(sim_options({.device = memory}), clock);
  SimLayers layers(driver, clock, {.device = memory}, must(FileTier::open("", Bytes())));
  must(layers.add_residency(must(make_policy("recency"))));
  must(layers.add_pages(2 * memory, memory));
  layers.add_blocks();
  for (std::uint64_t i = 0; i < blocks; ++i) must(layers.blocks->allocate(block_bytes, kNoStream, TagId()));

  const BlockStats stats = layers.blocks->stats();
  const PageStats page_stats = layers.pages->stats();
  Metadata metadata;
  metadata.block_bytes = block_bytes;
  metadata.blocks = blocks;
  metadata.managed = page_stats.in_runs;
  const RunShape shape = shape_for(size_class.is_slot() ? kBasePage : size_class.bytes());
  metadata.block_records =
      Bytes(size_class.is_slot() ? stats.slot_pages * bytes_of_slab(size_class)
                                 : stats.single_blocks * (sizeof(SingleBlock) + sizeof(void*) + kHashLinks));
  metadata.runs = Bytes(page_stats.runs * bytes_of_run(shape));
  metadata.page_map = Bytes(page_stats.in_runs / kBasePage * sizeof(Run*));
  return metadata;
}

}  // namespace tessera::bench
