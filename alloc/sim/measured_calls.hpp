// What a GPU's driver was measured to take for calls about memory: the default of a replay.
//
// Medians on an NVIDIA H200 with driver 580.159.04, in bench/results/gpu/2026-11-26-nvidia-h200; frames were timed on
// an H100 with the same driver only. tests/integration/measured_calls_test.py compares this table with those files.
//
// Thread safety: values.
#pragma once

#include "sim/sim_options.hpp"

namespace tessera {

inline constexpr SimCallTimes kMeasuredCalls{
    // H100, first_light.json, cost_of_device_frames: create 8 us, release 10 us for 2 MiB and 24 for 32.
    .frame = Nanoseconds(20'000),
    // earlier/first_light_1.json, remap_beside_copies, beside nothing: map 1 us; set access and unmap 41 us for 2 to 16
    // MiB, 64 for 32.
    .mapping = Nanoseconds(45'000),
    // first_light.json, remap_beside_copies_out: set access takes 1.03 ms while more than one copy is queued.
    .copy_turn = Nanoseconds(1'000'000)};

}  // namespace tessera
