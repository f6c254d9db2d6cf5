// The declarations that a source given to NVRTC has without including anything.
//
// Every source is compiled with this file in front of it (-include). It defines the keywords of CUDA C, the vector
// types, and the numeric functions; compiler builtins implement them, so that no standard header has to be read for
// each kernel.
//
// Thread safety: as in softcuda_device.hpp.
//
// Invariants: blocks of one device run one after another, and a thread of a block is interrupted only at a barrier or
// warp function, so an atomic operation is a plain one.
#pragma once

#include "../../softcuda/softcuda_device.hpp"

#include "keywords.hpp"
#include "numbers.hpp"
#include "bits.hpp"
#include "memory.hpp"
#include "vectors.hpp"

static constexpr int warpSize = 32;

// The C library's function, declared without its header.
extern "C" int printf(const char*, ...);

#if defined(SOFTCUDA_BARRIERS)
#include "warps.hpp"
#endif
