#include "policy/policy.hpp"

#include <fmt/format.h>

#include "policy/auto_policy.hpp"
#include "policy/belady_policy.hpp"
#include "policy/lru_policy.hpp"
#include "policy/recency_policy.hpp"

namespace tessera {
namespace {

template <class P>
std::unique_ptr<Policy> make() {
  return std::make_unique<P>();
}

}  // namespace

AbsencePlan Policy::plan(const Iteration&, const Machine&) const { return {}; }

const std::vector<PolicyEntry>& policies() {
  static const std::vector<PolicyEntry> entries = {
      {"auto", "ours", "learns the iteration and hides its moves; recency until then", &make<AutoPolicy>},
      {"recency", "ours", "farthest expected reuse by each run's own gap, cost-aware", &make<RecencyPolicy>},
      {"lru", "folklore", "least recently used leaves first", &make<LruPolicy>},
      {"belady", "Belady, IBM Systems Journal 1966", "farthest next use of the learned iteration leaves first",
       &make<BeladyPolicy>},
  };
  return entries;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  std::string known;
  for (const PolicyEntry& entry : policies()) {
    if (entry.name == name) return entry.make();
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  return Status(Code::kInvalidArgument, fmt::format("no policy is named {}; there are: {}", name, known));
}

}  // namespace tessera
