#include "lab/published/zero_infinity_policy.hpp"

#include <algorithm>
#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

constexpr double kEfficient = 0.5;
constexpr RunClass kStates[] = {RunClass::kOptimizer, RunClass::kGradient, RunClass::kWeight, RunClass::kActivation};

// The file if it is fast enough for these bytes or the host is full; the slower of its directions counts.
Location tier_for(const PlanGround& ground, Bytes bytes, Bytes& host_left) {
  const Machine& machine = ground.machine;
  const bool has_file = file_if_any(machine) == Location::kFile;
  const double rate = std::min(machine.file_read_rate, machine.file_write_rate);
  const double compute = ground.time.begin_of(static_cast<std::uint32_t>(ground.iteration.steps.size()));
  if (has_file && ZeroInfinityPolicy::efficiency(compute, bytes, rate) >= kEfficient) return Location::kFile;
  if (has_file && bytes > host_left) return Location::kFile;
  host_left -= std::min(bytes, host_left);
  return Location::kHost;
}

}  // namespace

double ZeroInfinityPolicy::efficiency(double compute_ns, Bytes bytes, double rate) {
  if (rate <= 0) return bytes == Bytes() ? 1 : 0;
  const double copying = static_cast<double>(bytes.value()) * 1e9 / rate;
  return compute_ns + copying > 0 ? compute_ns / (compute_ns + copying) : 1;
}

OffloadPlan ZeroInfinityPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  Bytes host_left = machine.host;
  std::vector<Gap> by_tier[2];
  for (const RunClass kind : kStates) {
    std::vector<Gap> leaving;
    Bytes bytes;
    for (const Gap& gap : ground.gaps) {
      if (ground.class_of(gap) != kind) continue;
      leaving.push_back(gap);
      bytes += ground.bytes_of(gap);
    }
    std::vector<Gap>& tier = by_tier[tier_for(ground, bytes, host_left) == Location::kFile ? 1 : 0];
    tier.insert(tier.end(), leaving.begin(), leaving.end());
  }
  ground.leave_for_queue(std::move(by_tier[0]), Location::kHost);
  ground.leave_for_queue(std::move(by_tier[1]), Location::kFile);
  return std::move(ground.plan);
}

}  // namespace tessera
