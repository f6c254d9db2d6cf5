// A benchmark has no caller to return an error to: it prints the error and exits.
//
// Thread safety: stateless.
#pragma once

#include <cstdlib>

#include <fmt/core.h>

#include "base/status.hpp"

namespace tessera::bench {

inline void must(const Status& status) {
  if (status.is_ok()) return;
  fmt::print(stderr, "{}\n", status.to_string());
  std::exit(EXIT_FAILURE);
}

inline void must(bool good, const char* what) { must(good ? Status() : Status(Code::kIo, what)); }

template <class T>
T must(Result<T> result) {
  must(result.status());
  return result.take();
}

}  // namespace tessera::bench
