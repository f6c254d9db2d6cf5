// What a source that is given to NVRTC finds without including anything.
//
// Every source is compiled with this page in front of it (-include). It holds the keywords of CUDA C,
// the vector types, and the functions on numbers; the compiler's builtins do the work, so that no
// standard header has to be read for each kernel.
//
// Thread safety: as softcuda_device.hpp says.
//
// Invariants: blocks of one device run one after another, and the threads of a block in turns that
// only a meeting ends, so an atomic operation is a plain one.
#pragma once

#include "../../softcuda/softcuda_device.hpp"

#include "keywords.hpp"
#include "numbers.hpp"
#include "bits.hpp"
#include "memory.hpp"
#include "vectors.hpp"

static constexpr int warpSize = 32;

// As a program on the host has them, but of no header.
extern "C" int printf(const char*, ...);

#if defined(SOFTCUDA_BARRIERS)
#include "warps.hpp"
#endif
