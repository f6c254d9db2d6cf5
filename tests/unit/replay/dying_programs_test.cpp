// Programs at random on one machine in virtual time, some of which die at a random step without cleaning up. The others
// are to go on without an error, to have the device to themselves at the end, and to find no rows of the dead.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include <fmt/core.h>

#include "lab/replay/virtual_machine.hpp"
#include "lab/replay/virtual_threads.hpp"
#include "node/ledger.hpp"

namespace tessera {
namespace {

constexpr Bytes kDevice = 512_MiB;
constexpr Bytes kOwnBlock = 16_MiB;
constexpr Nanoseconds kWork{1'000'000};

using Random = std::mt19937_64;

ReplayOptions options_of_each() {
  ReplayOptions options;
  options.device_memory = kDevice;
  options.host_memory = 4_GiB;
  options.policy = "lru";
  return options;
}

// What happened to a program; the same in each run of the same seed.
struct Story {
  bool dies = false;
  Status status;
  Nanoseconds ended;
  std::uint64_t fetched = 0, evicted = 0;
  bool operator==(const Story& other) const {
    return dies == other.dies && status.code() == other.status.code() && ended == other.ended &&
           fetched == other.fetched && evicted == other.evicted;
  }
};

class Player {
 public:
  Player(VirtualMachine& machine, std::uint64_t seed) : machine_(machine), random_(seed) {
    most_ = 4 + random_() % 26;  // blocks, of the 32 that the device has
  }

  // A step: a block more or less, work on a few blocks, or none for a while.
  Status step() {
    const std::uint64_t chance = random_() % 16;
    if (blocks_.empty() || (chance < 4 && blocks_.size() < most_)) return allocate();
    if (chance == 4) return free_one();
    if (chance == 5) return rest(Nanoseconds(random_() % 300'000'000));
    return work(1 + random_() % std::min<std::size_t>(4, blocks_.size()));
  }
  Status use_all() {
    for (const Address block : blocks_) TESSERA_TRY(work_on({&block, 1}));
    TESSERA_TRY(machine_.driver().synchronize(StreamId()));
    machine_.allocator().heaps().advance();  // counts the fetches
    return {};
  }
  Status rest(Nanoseconds time) {
    machine_.pass(time);
    return {};
  }
  Status finish() {
    TESSERA_TRY(machine_.driver().synchronize(StreamId()));
    for (const Address block : blocks_) TESSERA_TRY(machine_.allocator().free(block, StreamId()));
    return {};
  }
  std::uint64_t fetched() const { return machine_.allocator().stats().snapshot().totals.fetches; }

 private:
  Status allocate() {
    Address block;
    TESSERA_TRY_ASSIGN(block, machine_.allocator().allocate(DeviceId(), kOwnBlock, StreamId()));
    blocks_.push_back(block);
    return work_on({&block, 1});
  }
  Status free_one() {
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    const Address block = blocks_.back();
    blocks_.pop_back();
    return machine_.allocator().free(block, StreamId());
  }
  Status work(std::size_t count) {
    std::shuffle(blocks_.begin(), blocks_.end(), random_);
    return work_on(std::span(blocks_).first(count));
  }
  Status work_on(std::span<const Address> blocks) {
    machine_.look();
    AnnouncedUse use;
    TESSERA_TRY(machine_.allocator().uses().begin(blocks, blocks.size(), StreamId(), "work", use));
    std::vector<DeviceRange> ranges;
    for (const Address block : blocks) ranges.push_back({block, kOwnBlock});
    const Status queued = machine_.driver().occupy(StreamId(), kWork, ranges);
    machine_.allocator().uses().end(use);
    return queued;
  }

  VirtualMachine& machine_;
  Random random_;
  std::size_t most_ = 0;
  std::vector<Address> blocks_;
};

// The life of a program that may die at one of its steps.
Status live(SharedMachine& shared, std::uint64_t seed, std::optional<std::uint32_t> death, Story& story) {
  SharedPlace place{shared, {.time_slice = 200}};
  std::unique_ptr<VirtualMachine> machine;
  TESSERA_TRY_ASSIGN(machine, VirtualMachine::create(options_of_each(), 1, &place));
  Player player(*machine, seed);
  constexpr std::uint32_t kSteps = 400;
  for (std::uint32_t i = 0; i < kSteps; ++i) {
    if (death == i) {
      machine->die();
      return {};
    }
    TESSERA_TRY(player.step());
  }
  const tessera_stats totals = machine->allocator().stats().snapshot().totals;
  story.fetched = totals.fetches;
  story.evicted = totals.evictions;
  return player.finish();
}

struct History {
  std::vector<Story> stories;
  std::size_t rows_left = 0;
  std::uint64_t fetched_alone = 0;
};

Result<std::size_t> rows_of(SharedMachine& shared) {
  const bool dead = false;
  const auto file = shared.ledger.open(dead);
  TESSERA_TRY(file->lock({}));
  std::vector<std::byte> bytes(kLedgerBytes);
  std::size_t size = 0, rows = 0;
  TESSERA_TRY_ASSIGN(size, file->read(bytes));
  for (std::size_t i = 0; i < kLedgerRows; ++i) rows += read_row(std::span(bytes).first(size), i) ? 1U : 0U;
  file->unlock();
  return rows;
}

// The first program never dies. When all others have ended, it is to have what it needs, and to fetch nothing again.
Status outlive(SharedMachine& shared, std::uint64_t seed, const std::vector<Story>& stories, History& run) {
  SharedPlace place{shared, {.time_slice = 200}};
  std::unique_ptr<VirtualMachine> machine;
  TESSERA_TRY_ASSIGN(machine, VirtualMachine::create(options_of_each(), 1, &place));
  Player player(*machine, seed);
  const auto are_over = [&] {
    return std::all_of(stories.begin() + 1, stories.end(), [](const Story& each) { return bool(each.ended); });
  };
  for (std::uint32_t i = 0; i < 200 || !are_over(); ++i) TESSERA_TRY(player.step());
  TESSERA_TRY(player.rest(Ledger::kUnseen + Nanoseconds(2'000'000'000)));
  TESSERA_TRY(player.use_all());
  const std::uint64_t before = player.fetched();
  for (int i = 0; i < 4; ++i) TESSERA_TRY(player.use_all());
  run.fetched_alone = player.fetched() - before;
  TESSERA_TRY_ASSIGN(run.rows_left, rows_of(shared));
  return player.finish();
}

History run_of(std::uint64_t seed) {
  Random random(seed);
  SharedMachine shared(kDevice);
  History run;
  run.stories.resize(2 + random() % 3);
  std::vector<std::function<void()>> bodies;
  for (std::size_t i = 0; i < run.stories.size(); ++i) {
    const std::uint64_t own_seed = random();
    std::optional<std::uint32_t> death;
    if (i != 0 && random() % 3 != 0) death = static_cast<std::uint32_t>(random() % 400);
    run.stories[i].dies = death.has_value();
    bodies.emplace_back([&, i, own_seed, death] {
      Story& story = run.stories[i];
      story.status = i == 0 ? outlive(shared, own_seed, run.stories, run) : live(shared, own_seed, death, story);
      story.ended = shared.clock.now() + Nanoseconds(1);
    });
  }
  VirtualThreads threads(shared.clock);
  const Status all = threads.run(bodies);
  EXPECT_TRUE(all.is_ok()) << all.to_string();
  EXPECT_EQ(shared.hardware.free(DeviceId()), shared.memory) << "what the programs held is free";
  return run;
}

TEST(DyingPrograms, LeaveTheirMemoryToTheOthers) {
  std::size_t deaths = 0;
  std::uint64_t evicted = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const History run = run_of(seed);
    for (const Story& story : run.stories) {
      EXPECT_TRUE(story.status.is_ok()) << story.status.to_string();
      deaths += story.dies ? 1U : 0U;
      evicted += story.evicted;
    }
    EXPECT_EQ(run.fetched_alone, 0U) << "it has the device to itself";
    EXPECT_EQ(run.rows_left, 1U) << "no row of a dead program is left";
  }
  EXPECT_GT(deaths, 12U);
  EXPECT_GT(evicted, 1000U) << "they were short of memory";
}

TEST(DyingPrograms, DieTheSameWayInEachRun) {
  for (const std::uint64_t seed : {3, 7}) EXPECT_EQ(run_of(seed).stories, run_of(seed).stories) << seed;
}

}  // namespace
}  // namespace tessera
