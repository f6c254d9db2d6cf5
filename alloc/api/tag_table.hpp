// Maps tag names to small numbers. A tag, once named, is never removed.
//
// Thread safety: every call may be made from any thread; the current tag is the thread's own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "base/units.hpp"
#include "planning/run_class.hpp"

namespace tessera {

class TagTable {
 public:
  static constexpr std::size_t kMaxLength = 31;
  static constexpr std::size_t kMaxTags = 4096;

  // The number of `name`, new or known; "" is 0. Errors: kInvalidArgument when it is too long or
  // there are too many.
  Result<TagId> intern(std::string_view name);
  // Nothing when the name is unknown.
  std::optional<TagId> find(std::string_view name) const;
  std::string name_of(TagId tag) const;
  // The class of its name (planning/run_class.hpp). The engine calls this under its own lock.
  RunClass class_of(TagId tag) const { return class_of_word(name_of(tag)); }
  std::size_t size() const;

 private:
  mutable Mutex mutex_{LockRank::kObserve};
  std::vector<std::string> names_ GUARDED_BY(mutex_) = {""};
};

// The calling thread's stack of tags; the innermost tags the thread's allocations.
class TagStack {
 public:
  static constexpr std::size_t kMaxDepth = 64;

  static TagId current();
  // Errors: kInvalidArgument when the stack is full, or empty.
  static Status push(TagId tag);
  static Status pop();
};

}  // namespace tessera
