#include "api/tag_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace tessera {
namespace {

struct Stack {
  std::array<TagId, TagStack::kMaxDepth> tags;
  std::size_t depth = 0;
};
thread_local Stack stack;

}  // namespace

Result<TagId> TagTable::intern(std::string_view name) {
  if (name.size() > kMaxLength) {
    return Status(Code::kInvalidArgument, fmt::format("a tag has at most {} characters: {}", kMaxLength, name));
  }
  MutexLock lock(mutex_);
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known != names_.end()) return TagId(static_cast<std::uint64_t>(known - names_.begin()));
  if (names_.size() == kMaxTags) {
    return Status(Code::kInvalidArgument, fmt::format("the limit of {} tags is reached", kMaxTags));
  }
  names_.emplace_back(name);
  return TagId(names_.size() - 1);
}

std::optional<TagId> TagTable::find(std::string_view name) const {
  MutexLock lock(mutex_);
  const auto known = std::find(names_.begin(), names_.end(), name);
  if (known == names_.end()) return std::nullopt;
  return TagId(static_cast<std::uint64_t>(known - names_.begin()));
}

std::string TagTable::name_of(TagId tag) const {
  MutexLock lock(mutex_);
  return tag.value() < names_.size() ? names_[tag.value()] : "";
}

std::size_t TagTable::size() const {
  MutexLock lock(mutex_);
  return names_.size();
}

TagId TagStack::current() { return stack.depth == 0 ? TagId() : stack.tags[stack.depth - 1]; }

Status TagStack::push(TagId tag) {
  if (stack.depth == kMaxDepth) {
    return Status(Code::kInvalidArgument, fmt::format("tags are already nested {} deep", kMaxDepth));
  }
  stack.tags[stack.depth++] = tag;
  return {};
}

Status TagStack::pop() {
  if (stack.depth == 0) return Status(Code::kInvalidArgument, "no tag was pushed on this thread");
  --stack.depth;
  return {};
}

}  // namespace tessera
