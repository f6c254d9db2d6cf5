// Every ideal of an order: every set of groups that holds, with a group, all that must come before.
//
// Thread safety: values.
#pragma once

#include <vector>

#include "base/status.hpp"

namespace tessera {

class Ideals {
 public:
  static constexpr std::size_t kMost = 60'000;

  // One group less: `group` was the last of the ideal, `ideal` is what is left.
  struct Step {
    std::size_t group = 0;
    std::size_t ideal = 0;
  };

  // `before[g]` are the groups that must come before g, all lower than g.
  // Errors: kNotSupported when there are more than kMost.
  static Result<Ideals> of(const std::vector<std::vector<std::size_t>>& before);

  // The first is empty, the last is everything; an ideal stands behind all that it contains.
  std::size_t count() const { return down_.size(); }
  const std::vector<Step>& down(std::size_t ideal) const { return down_[ideal]; }

 private:
  std::vector<std::vector<Step>> down_;
};

}  // namespace tessera
