// All ideals of a partial order: the sets of groups that contain, with each group, all its predecessors.
//
// Thread safety: values.
#pragma once

#include <vector>

#include "base/status.hpp"

namespace tessera {

class Ideals {
 public:
  static constexpr std::size_t kMost = 60'000;

  // A step to a smaller ideal: `group` was added last, `ideal` is the rest.
  struct Step {
    std::size_t group = 0;
    std::size_t ideal = 0;
  };

  // `before[g]` are the predecessors of group g, all with lower numbers. Errors: kNotSupported if there are
  // more than kMost ideals.
  static Result<Ideals> of(const std::vector<std::vector<std::size_t>>& before);

  // The first is empty, the last contains all groups; an ideal comes after all of its subsets.
  std::size_t count() const { return down_.size(); }
  const std::vector<Step>& down(std::size_t ideal) const { return down_[ideal]; }

 private:
  std::vector<std::vector<Step>> down_;
};

}  // namespace tessera
