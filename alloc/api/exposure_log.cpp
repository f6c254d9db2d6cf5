#include "api/exposure_log.hpp"

#include <fmt/ranges.h>
#include <fmt_whole.hpp>

#include "base/call_stack.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostReasons = 64;

}  // namespace

void ExposureLog::note(const char* reason) {
  if (!explain_) return;
  {
    const MutexLock lock(mutex_);
    if (first_.size() >= kMostReasons || first_.contains(reason)) return;
  }
  // Outside the lock: call_stack() takes the loader's lock.
  std::string stack = fmt::format("{}", fmt::join(call_stack(), " < "));
  const MutexLock lock(mutex_);
  first_.try_emplace(reason, std::move(stack));
}

std::string ExposureLog::first_call(std::string_view reason) const {
  const MutexLock lock(mutex_);
  const auto found = first_.find(reason);
  return found == first_.end() ? std::string() : found->second;
}

}  // namespace tessera
