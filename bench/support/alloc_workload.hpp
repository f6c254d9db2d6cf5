// The workloads of the contenders, identical for all of them, and how they are timed.
//
// Times are CPU time of the thread, so that other load on a shared machine affects a round little. Contenders take
// turns within a round, and a figure is the median of its rounds. No block is ever written or read. Random numbers are
// drawn before the clock starts, from fixed seeds.
//
// Thread safety: run() by one thread per number; all else by one thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "contender.hpp"
#include "lab/replay/trace.hpp"

namespace tessera::bench {

class Workload {
 public:
  virtual ~Workload() = default;
  // Runs `operations` operations as thread number `thread`. Returns nanoseconds of CPU time per operation.
  virtual double run(unsigned thread, int operations) = 0;
};
using WorkloadMaker = std::function<std::unique_ptr<Workload>(Contender&)>;

// An allocation and its free, repeatedly; by any number of threads on one stream.
WorkloadMaker cached_pair(Bytes bytes);
// A touch of a resident block, repeatedly. For contenders that have touches.
WorkloadMaker touches(Bytes bytes);
// Normally distributed sizes around 2 MiB, at most 1 GiB live; each operation is an allocation or the free of a random
// block: the shape of RMM's benchmark of this name.
WorkloadMaker random_allocations();
// Streams in turn, each with eight blocks of about 1 MiB in flight, freed in order on their stream.
WorkloadMaker multi_stream_allocations();
// A recorded program, repeatedly: the allocations and frees of its trace in their order; at the end the remaining
// blocks are freed. Streams are taken in turn. REQUIRES: the trace outlives the workload.
WorkloadMaker replay_of(const Trace& trace);
// Thread 0 allocates, thread 1 frees the blocks it is handed, 256 at a time.
WorkloadMaker cross_thread_free(Bytes bytes);
// A random one of `live` blocks is freed and allocated anew: the cost of a pair among many.
WorkloadMaker replace_among(std::size_t live, Bytes bytes);

// Nanoseconds per operation: of a single thread, and of two at once (0 if not requested).
struct Cost {
  double alone = 0, together = 0;
};
enum class Turns : std::uint8_t { kAlone, kTogether, kBoth };

// The costs of the workloads in their order: medians of up to `rounds` rounds. In each round all workloads take their
// turns, so that compared figures are measured at the same time. It ends after six seconds, but not before three
// rounds.
std::vector<Cost> measure(std::span<const std::unique_ptr<Workload>> workloads, Turns turns, int rounds,
                          int operations);

}  // namespace tessera::bench
