// What the contenders are asked to do, the same for each of them, and how it is timed.
//
// Times are processor time of the thread, so that a neighbour on a shared machine costs a round little;
// contenders take turns within a round, and a figure is the median of its rounds. No block is ever
// touched. Random numbers are drawn before the clock runs, from fixed seeds.
//
// Thread safety: run() by one thread per number; all else by one thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "contender.hpp"
#include "replay/trace.hpp"

namespace tessera::bench {

class Workload {
 public:
  virtual ~Workload() = default;
  // So many operations as thread number `thread`; nanoseconds of processor time for one.
  virtual double run(unsigned thread, int operations) = 0;
};
using WorkloadMaker = std::function<std::unique_ptr<Workload>(Contender&)>;

// An allocation and its free, again and again; by any number of threads on one stream.
WorkloadMaker cached_pair(Bytes bytes);
// A touch of a block that is there, again and again. For contenders that have it.
WorkloadMaker touches(Bytes bytes);
// Sizes around 2 MiB (normal), at most 1 GiB live, either an allocation or the free of a random block:
// the shape of RMM's benchmark of this name.
WorkloadMaker random_allocations();
// Streams in turn, each with eight blocks of about 1 MiB under way, freed in order on their stream.
WorkloadMaker multi_stream_allocations();
// What a program did, again and again: the allocations and frees of its trace in their order, and at the end those
// that remain are freed. Streams are taken in turn. REQUIRES: the trace outlives the workload.
WorkloadMaker replay_of(const Trace& trace);
// Thread 0 allocates, thread 1 frees what it is handed, 256 blocks at a time.
WorkloadMaker cross_thread_free(Bytes bytes);
// A random one of `live` blocks is freed and allocated anew: the cost of a pair among many.
WorkloadMaker replace_among(std::size_t live, Bytes bytes);

// Nanoseconds of one operation: of one thread by itself, and of two at once (0 where not asked for).
struct Cost {
  double alone = 0, together = 0;
};
enum class Turns : std::uint8_t { kAlone, kTogether, kBoth };

// The costs of the workloads in their order: medians of up to `rounds` rounds, in each of which all of
// them have their turns, so that what is compared was measured in the same moments. Six seconds end it,
// after three rounds at least.
std::vector<Cost> measure(std::span<const std::unique_ptr<Workload>> workloads, Turns turns,
                          int rounds, int operations);

}  // namespace tessera::bench
