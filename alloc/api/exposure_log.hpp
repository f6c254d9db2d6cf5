// Where addresses were exposed: for each reason, the stack of the first such call.
//
// The engine counts the bytes per reason; this only remembers the first call, so that a person finds the line in the
// program. When off, it costs one compare.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/mutex.hpp"

namespace tessera {

class ExposureLog {
 public:
  explicit ExposureLog(bool explain) : explain_(explain) {}

  // Call on the exposing thread, within the exposing call. Beyond 64 reasons it does nothing.
  void note(const char* reason);
  // "inner < outer < ...", or "" if none was noted.
  std::string first_call(std::string_view reason) const;

 private:
  const bool explain_;
  mutable Mutex mutex_{LockRank::kObserve};
  std::map<std::string, std::string, std::less<>> first_ GUARDED_BY(mutex_);
};

}  // namespace tessera
