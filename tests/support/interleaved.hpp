// The order of passes on one rank of a pipeline with several model chunks per rank (interleaved 1F1B), as in
// bench/traces/interleaved.py.
//
// Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::test {

struct PipelineShape {
  std::uint32_t ranks = 4, rank = 0, chunks = 2, micro_batches = 8;
  std::uint32_t passes() const { return chunks * micro_batches; }
  // Forward passes before the first backward pass.
  std::uint32_t ahead() const { return std::min(2 * (ranks - rank - 1) + (chunks - 1) * ranks, passes()); }
  std::uint32_t in_flight() const { return std::min(ahead() + 1, passes()); }
};

struct PipelinePass {
  bool is_forward = true;
  std::uint32_t chunk = 0, micro_batch = 0;
};

inline std::vector<PipelinePass> interleaved(const PipelineShape& shape) {
  const auto pass_of = [&shape](bool is_forward, std::uint32_t number) -> PipelinePass {
    const std::uint32_t cycle = shape.ranks * shape.chunks;
    const std::uint32_t chunk = number % cycle / shape.ranks;
    return {is_forward, is_forward ? chunk : shape.chunks - 1 - chunk,
            number / cycle * shape.ranks + number % shape.ranks};
  };
  std::vector<PipelinePass> passes;
  for (std::uint32_t number = 0; number < shape.passes() + shape.ahead(); ++number) {
    if (number < shape.passes()) passes.push_back(pass_of(true, number));
    if (number >= shape.ahead()) passes.push_back(pass_of(false, number - shape.ahead()));
  }
  return passes;
}

}  // namespace tessera::test
