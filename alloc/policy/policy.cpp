#include "policy/policy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace tessera {
namespace {

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::unique_ptr<Policy> made_by(const PolicyEntry& entry, std::string_view name) {
  if (name == entry.name) return entry.make();
  const std::size_t colon = name.find(':');
  if (!entry.make_with || colon != entry.name.size() || name.substr(0, colon) != entry.name) return nullptr;
  const std::optional<double> number = number_of(name.substr(colon + 1));
  return number ? entry.make_with(*number) : nullptr;
}

}  // namespace

OffloadPlan Policy::plan(const Iteration&, const Machine&) const { return {}; }

void Policy::strategies(const Iteration& iteration, const Machine& machine, const EmitCandidate& emit) const {
  emit({name(), plan(iteration, machine), this});
}

std::string with_seed(std::string_view name, std::uint64_t seed) {
  const auto draws = [name](const PolicyEntry& entry) { return entry.draws && entry.name == name; };
  return std::ranges::any_of(policies(), draws) ? fmt::format("{}:{}", name, seed) : std::string(name);
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name) {
  std::string known;
  for (const PolicyEntry& entry : policies()) {
    if (std::unique_ptr<Policy> policy = made_by(entry, name)) return policy;
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  return Status(Code::kInvalidArgument, fmt::format("unknown policy '{}'; available: {}", name, known));
}

}  // namespace tessera
