// Fills a caller's struct up to the size that the caller knows: fields are only ever added at the end, so an older
// program passes a smaller `size` and gets the fields it was compiled with.
//
// Thread safety: stateless.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "api/call.hpp"
#include "base/status.hpp"

namespace tessera {

// Errors: kInvalidArgument for null, and for an invalid `size`.
template <class T>
Status copy_out_struct(const T& from, T* to, const char* name) {
  if (to == nullptr) return null_argument(name);
  const std::uint32_t size = to->size;
  if (size < sizeof(size) || size > 4096) {
    return Status(Code::kInvalidArgument, std::string(name) + "->size is not set");
  }
  std::memcpy(to, &from, std::min<std::size_t>(size, sizeof(T)));
  to->size = size;
  return {};
}

}  // namespace tessera
