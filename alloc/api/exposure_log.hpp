// Who made addresses leave our sight: for each reason, the stack of the first such call.
//
// How many bytes a reason holds is the engine's to tell; this only remembers where it began, so that
// a person finds the line of the program. Off it costs one compare.
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

  // To be called on the thread that exposes, within the call that does. Beyond 64 reasons: nothing.
  void note(const char* reason);
  // "inner < outer < ...", or "" when it was not noted.
  std::string first_call(std::string_view reason) const;

 private:
  const bool explain_;
  mutable Mutex mutex_{LockRank::kObserve};
  std::map<std::string, std::string, std::less<>> first_ GUARDED_BY(mutex_);
};

}  // namespace tessera
