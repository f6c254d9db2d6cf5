#include "alloc_workload.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <random>
#include <thread>
#include <utility>

#include "timing.hpp"

namespace tessera::bench {
namespace {

constexpr std::size_t kDrawn = 1 << 14;
constexpr int kLeastRounds = 3;
constexpr std::chrono::seconds kLongest{6};

double cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

std::uint64_t allocate(Contender& contender, Bytes bytes, unsigned stream) {
  const std::uint64_t address = contender.allocate(bytes, stream);
  if (address != 0) return address;
  std::cerr << "alloc_bench: no room for a block of " << bytes.value() << " bytes\n";
  std::exit(EXIT_FAILURE);
}

std::vector<Bytes> normal_sizes(double mean, double deviation) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> size(mean, deviation);
  std::vector<Bytes> sizes(kDrawn);
  for (Bytes& bytes : sizes) bytes = Bytes(static_cast<std::uint64_t>(std::max(512.0, size(random))));
  return sizes;
}

std::vector<std::uint32_t> drawn_numbers(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> numbers(kDrawn);
  for (auto& number : numbers) number = static_cast<std::uint32_t>(random());
  return numbers;
}

class CachedPair final : public Workload {
 public:
  CachedPair(Contender& contender, Bytes bytes) : contender_(contender), bytes_(bytes) {}
  double run(unsigned, int operations) override {
    const double begin = cpu_ns();
    for (int i = 0; i < operations; ++i) {
      contender_.free(allocate(contender_, bytes_, 0), 0);
    }
    return (cpu_ns() - begin) / operations;
  }

 private:
  Contender& contender_;
  const Bytes bytes_;
};

class Touches final : public Workload {
 public:
  Touches(Contender& contender, Bytes bytes) : contender_(contender), block_(allocate(contender, bytes, 0)) {}
  ~Touches() override { contender_.free(block_, 0); }
  double run(unsigned, int operations) override {
    const double begin = cpu_ns();
    for (int i = 0; i < operations; ++i) {
      if (!contender_.touch(block_, 0)) std::exit(EXIT_FAILURE);
    }
    return (cpu_ns() - begin) / operations;
  }

 private:
  Contender& contender_;
  const std::uint64_t block_;
};

class RandomAllocations final : public Workload {
 public:
  explicit RandomAllocations(Contender& contender) : contender_(contender) {}
  ~RandomAllocations() override {
    for (const auto& [address, bytes] : live_) contender_.free(address, 0);
  }
  double run(unsigned, int operations) override {
    const double begin = cpu_ns();
    for (int i = 0; i < operations; ++i, ++at_) {
      const std::uint32_t number = numbers_[at_ % kDrawn];
      const Bytes bytes = sizes_[at_ % kDrawn];
      const bool full = sum_ + bytes > 1_GiB;
      if (live_.empty() || (!full && (number & 1) != 0)) {
        live_.emplace_back(allocate(contender_, bytes, 0), bytes);
        sum_ += bytes;
      } else {
        std::swap(live_[(number >> 1) % live_.size()], live_.back());
        contender_.free(live_.back().first, 0);
        sum_ -= live_.back().second;
        live_.pop_back();
      }
    }
    return (cpu_ns() - begin) / operations;
  }

 private:
  Contender& contender_;
  const std::vector<Bytes> sizes_ = normal_sizes(2e6, 1e6);
  const std::vector<std::uint32_t> numbers_ = drawn_numbers(11);
  std::vector<std::pair<std::uint64_t, Bytes>> live_;
  Bytes sum_;
  std::size_t at_ = 0;
};

class MultiStream final : public Workload {
 public:
  explicit MultiStream(Contender& contender) : contender_(contender) {}
  ~MultiStream() override {
    for (std::size_t i = 0; i < under_way_.size(); ++i) {
      if (under_way_[i] != 0) contender_.free(under_way_[i], stream_of(i));
    }
  }
  double run(unsigned, int operations) override {
    const double begin = cpu_ns();
    for (int i = 0; i < operations; ++i, ++at_) {
      const std::size_t place = at_ % under_way_.size();
      if (under_way_[place] != 0) contender_.free(under_way_[place], stream_of(place));
      under_way_[place] = allocate(contender_, sizes_[at_ % kDrawn], stream_of(place));
    }
    return (cpu_ns() - begin) / operations;
  }

 private:
  static unsigned stream_of(std::size_t place) { return static_cast<unsigned>(place % Contender::kStreams); }
  Contender& contender_;
  const std::vector<Bytes> sizes_ = normal_sizes(1e6, 3e5);
  std::array<std::uint64_t, 8 * Contender::kStreams> under_way_{};
  std::size_t at_ = 0;
};

// An allocation or a free of a block, identified by its number.
struct Step {
  bool allocates = false;
  std::uint32_t block = 0;
  unsigned stream = 0;
  Bytes bytes;
};

// A log names the stream of a free in the operation before it, which is the last use of the block.
std::vector<Step> steps_of(const Trace& trace) {
  std::vector<Step> steps;
  std::vector<bool> live(trace.blocks.size());
  std::uint32_t last = 0;
  const auto stream = [](std::uint32_t number) { return number % Contender::kStreams; };
  for (const TraceEvent& event : trace.events) {
    const bool allocates = event.kind == TraceEvent::Kind::kAlloc;
    if (event.kind == TraceEvent::Kind::kOp) last = trace.ops[event.index].stream;
    if (!allocates && event.kind != TraceEvent::Kind::kFree) continue;
    const TraceBlock& block = trace.blocks[event.index];
    steps.push_back({allocates, event.index, stream(allocates ? block.stream : last), block.bytes});
    live[event.index] = allocates;
  }
  for (std::uint32_t block = 0; block < live.size(); ++block) {
    if (live[block]) steps.push_back({false, block, stream(trace.blocks[block].stream), {}});
  }
  return steps;
}

class Replay final : public Workload {
 public:
  Replay(Contender& contender, const Trace& trace)
      : contender_(contender), steps_(steps_of(trace)), addresses_(trace.blocks.size()) {}
  ~Replay() override {
    for (const std::uint64_t address : addresses_) {
      if (address != 0) contender_.free(address, 0);
    }
  }
  double run(unsigned, int operations) override {
    const double begin = cpu_ns();
    for (int i = 0; i < operations; ++i) {
      const Step& step = steps_[at_];
      std::uint64_t& address = addresses_[step.block];
      if (step.allocates) {
        address = allocate(contender_, step.bytes, step.stream);
      } else {
        contender_.free(std::exchange(address, 0), step.stream);
      }
      if (++at_ == steps_.size()) at_ = 0;
    }
    return (cpu_ns() - begin) / operations;
  }

 private:
  Contender& contender_;
  const std::vector<Step> steps_;
  std::vector<std::uint64_t> addresses_;
  std::size_t at_ = 0;
};

// Two boxes in turn: one is filled while the other is emptied.
class CrossThreadFree final : public Workload {
 public:
  CrossThreadFree(Contender& contender, Bytes bytes) : contender_(contender), bytes_(bytes) {}
  double run(unsigned thread, int operations) override {
    double sum = 0;
    const int steps = operations / static_cast<int>(kBox) + 1;
    for (int step = 0; step <= steps; ++step) {
      const bool works = thread == 0 ? step < steps : step > 0;
      auto& box = boxes_[static_cast<std::size_t>(thread == 0 ? step : step + 1) % 2];
      const double begin = cpu_ns();
      for (std::uint64_t& address : box) {
        if (!works) break;
        if (thread == 0) {
          address = allocate(contender_, bytes_, 0);
        } else {
          contender_.free(address, 0);
        }
      }
      sum += cpu_ns() - begin;
      turn_.arrive_and_wait();
    }
    return sum / (steps * static_cast<double>(kBox));
  }

 private:
  static constexpr std::size_t kBox = 256;
  Contender& contender_;
  const Bytes bytes_;
  std::array<std::array<std::uint64_t, kBox>, 2> boxes_{};
  std::barrier<> turn_{2};
};

class ReplaceAmong final : public Workload {
 public:
  ReplaceAmong(Contender& contender, std::size_t live, Bytes bytes)
      : contender_(contender), bytes_(bytes), live_(live) {
    for (std::uint64_t& address : live_) address = allocate(contender_, bytes_, 0);
  }
  ~ReplaceAmong() override {
    for (const std::uint64_t address : live_) contender_.free(address, 0);
  }
  double run(unsigned, int operations) override {
    const double begin = cpu_ns();
    for (int i = 0; i < operations; ++i) {
      // Visits each block once, in steps of a prime, which needs no table of random numbers.
      at_ = (at_ + 999983) % live_.size();
      contender_.free(live_[at_], 0);
      live_[at_] = allocate(contender_, bytes_, 0);
    }
    return (cpu_ns() - begin) / operations;
  }

 private:
  Contender& contender_;
  const Bytes bytes_;
  std::vector<std::uint64_t> live_;
  std::size_t at_ = 0;
};

}  // namespace

WorkloadMaker cached_pair(Bytes bytes) {
  return [bytes](Contender& one) { return std::make_unique<CachedPair>(one, bytes); };
}
WorkloadMaker touches(Bytes bytes) {
  return [bytes](Contender& one) { return std::make_unique<Touches>(one, bytes); };
}
WorkloadMaker random_allocations() {
  return [](Contender& one) { return std::make_unique<RandomAllocations>(one); };
}
WorkloadMaker multi_stream_allocations() {
  return [](Contender& one) { return std::make_unique<MultiStream>(one); };
}
WorkloadMaker replay_of(const Trace& trace) {
  return [&trace](Contender& one) { return std::make_unique<Replay>(one, trace); };
}
WorkloadMaker cross_thread_free(Bytes bytes) {
  return [bytes](Contender& one) { return std::make_unique<CrossThreadFree>(one, bytes); };
}
WorkloadMaker replace_among(std::size_t live, Bytes bytes) {
  return [=](Contender& one) { return std::make_unique<ReplaceAmong>(one, live, bytes); };
}

// The first round fills the caches and does not count.
std::vector<Cost> measure(std::span<const std::unique_ptr<Workload>> workloads, Turns turns, int rounds,
                          int operations) {
  struct Times {
    std::vector<double> alone;
    std::array<std::vector<double>, 2> together;  // by thread
  };
  std::vector<Times> times(workloads.size());
  const std::ptrdiff_t threads = turns == Turns::kAlone ? 1 : 2;
  std::barrier turn(threads);
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<bool> enough{false};
  const auto work = [&](unsigned thread) {
    for (int round = 0; round <= rounds; ++round) {
      if (thread == 0 && round > kLeastRounds) {
        enough.store(std::chrono::steady_clock::now() - begin > kLongest);
      }
      turn.arrive_and_wait();
      if (enough.load()) break;
      for (std::size_t i = 0; i < workloads.size(); ++i) {
        if (turns != Turns::kTogether && thread == 0) {
          const double ns = workloads[i]->run(thread, operations);
          if (round > 0) times[i].alone.push_back(ns);
        }
        turn.arrive_and_wait();
        if (turns == Turns::kAlone) continue;
        const double ns = workloads[i]->run(thread, operations);
        if (round > 0) times[i].together[thread].push_back(ns);
        turn.arrive_and_wait();
      }
    }
  };
  std::thread other;
  if (threads == 2) other = std::thread(work, 1);
  work(0);
  if (threads == 2) other.join();

  std::vector<Cost> costs;
  const auto middle = [](const std::vector<double>& rounds) { return rounds.empty() ? 0 : median(rounds); };
  for (const Times& own : times) {
    costs.push_back({middle(own.alone), (middle(own.together[0]) + middle(own.together[1])) / 2});
  }
  return costs;
}

}  // namespace tessera::bench
