// <cuda/std/cstddef> and <cuda/std/cstdint>.
//
// Thread safety: types.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cuda::std {
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intmax_t;
using ::intptr_t;
using ::max_align_t;
using ::ptrdiff_t;
using ::size_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintmax_t;
using ::uintptr_t;
using nullptr_t = decltype(nullptr);
}  // namespace cuda::std
