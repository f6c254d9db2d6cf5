// An iteration of one rank of an interleaved pipeline, with the activations saved by its passes.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "interleaved.hpp"
#include "iterations.hpp"

namespace tessera::test {

// Activations come first, by chunk, micro-batch and operation; then a weight for each chunk, and a gradient for each
// pass. Each operation of a pass computes one activation from the previous one.
struct PipelineIteration {
  PipelineShape shape;
  std::vector<Bytes> saved = two_layers();  // by operation
  Bytes weight = 4_MiB, gradient = 2_MiB;
  std::uint64_t nanoseconds = 1'000'000;  // of an operation; twice as much in the backward pass

  // As in Llama: eight of one width and three of another.
  static std::vector<Bytes> two_layers() {
    std::vector<Bytes> layer(8, 4_MiB);
    layer.insert(layer.end(), 3, 10_MiB);
    std::vector<Bytes> two = layer;
    two.insert(two.end(), layer.begin(), layer.end());
    return two;
  }
  std::uint32_t operations() const { return static_cast<std::uint32_t>(saved.size()); }
  std::uint32_t pass_of(std::uint32_t run) const { return run / operations(); }
  Bytes saved_by_a_pass() const {
    Bytes sum;
    for (const Bytes bytes : saved) sum += bytes;
    return sum;
  }

  Iteration made() const {
    IterationBuilder build;
    const std::uint32_t n = operations();
    for (std::uint32_t i = 0; i < shape.passes() * n; ++i) build.run(saved[i % n], RunClass::kActivation);
    const std::uint32_t weights = shape.passes() * n, gradients = weights + shape.chunks;
    for (std::uint32_t i = 0; i < shape.chunks; ++i) build.run(weight, RunClass::kWeight);
    for (std::uint32_t i = 0; i < shape.passes(); ++i) build.run(gradient, RunClass::kGradient);
    for (const auto& [is_forward, chunk, micro_batch] : interleaved(shape)) {
      const std::uint32_t pass = chunk * shape.micro_batches + micro_batch, first = pass * n;
      for (std::uint32_t i = 0; i < n && is_forward; ++i) {
        std::vector<RunUse> uses{makes(first + i), reads(weights + chunk)};
        if (i > 0) uses.push_back(reads(first + i - 1));
        build.step(nanoseconds, uses);
      }
      for (std::uint32_t i = n; i-- > 0 && !is_forward;) {
        const RunUse gradient_of = i + 1 == n ? makes(gradients + pass) : writes(gradients + pass);
        build.step(2 * nanoseconds, {reads(first + i), reads(weights + chunk), gradient_of});
      }
    }
    return build.done();
  }
};

}  // namespace tessera::test
