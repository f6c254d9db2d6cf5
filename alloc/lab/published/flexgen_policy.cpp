#include "lab/published/flexgen_policy.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "lab/published/linear_program.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

enum Group : std::size_t { kWeights, kCache, kRest };
enum Tier : std::size_t { kOnDevice, kOnHost, kInFile };
constexpr std::size_t kGroups = 3, kTiers = 3;
using Shares = std::array<std::array<double, kTiers>, kGroups>;

// The totals of a group if all of it were off the device.
struct Volume {
  double bytes = 0;
  double in = 0;  // bytes per iteration over the inbound link
  double out = 0;
};
using Volumes = std::array<Volume, kGroups>;

Group group_of(RunClass kind) {
  if (kind == RunClass::kWeight) return kWeights;
  return kind == RunClass::kKvCache ? kCache : kRest;
}

Volumes volumes_of(const PlanGround& ground) {
  Volumes volumes;
  std::vector<bool> counted(ground.iteration.runs.size());
  for (const Gap& gap : ground.gaps) {
    Volume& volume = volumes[group_of(ground.class_of(gap))];
    const auto bytes = static_cast<double>(ground.bytes_of(gap).value());
    volume.in += bytes;
    if (ground.time.copy_out(gap.run) > 0) volume.out += bytes;
    if (!counted[gap.run]) volume.bytes += bytes;
    counted[gap.run] = true;
  }
  return volumes;
}

// Unknowns: the time, then the share of each group in each tier.
class Split {
 public:
  Split(const PlanGround& ground, const Volumes& volumes) : ground_(ground), volumes_(volumes), program_(cost()) {
    for (std::size_t group = 0; group < kGroups; ++group) {
      std::vector<double> all(kUnknowns);
      for (std::size_t tier = 0; tier < kTiers; ++tier) all[unknown(group, tier)] = 1;
      program_.exactly(all, 1);
    }
    limit_links();
    limit_room();
  }

  std::optional<Shares> solve() const {
    const std::optional<std::vector<double>> values = program_.solve();
    if (!values) return std::nullopt;
    Shares shares{};
    for (std::size_t group = 0; group < kGroups; ++group) {
      for (std::size_t tier = 0; tier < kTiers; ++tier) shares[group][tier] = (*values)[unknown(group, tier)];
    }
    return shares;
  }

 private:
  static constexpr std::size_t kUnknowns = 1 + kGroups * kTiers;
  static constexpr double kNone = 1e-12;  // stands for zero capacity, relative to the total

  static std::size_t unknown(std::size_t group, std::size_t tier) { return 1 + group * kTiers + tier; }

  // Among splits of equal time, prefers the one that moves least, and least of it through the file.
  static std::vector<double> cost() {
    std::vector<double> cost(kUnknowns);
    cost[0] = 1;
    for (std::size_t group = 0; group < kGroups; ++group) {
      cost[unknown(group, kOnHost)] = 1e-6;
      cost[unknown(group, kInFile)] = 2e-6;
    }
    return cost;
  }

  double compute() const {
    const auto steps = static_cast<std::uint32_t>(ground_.iteration.steps.size());
    return std::max(ground_.time.begin_of(steps), 1.0);
  }

  // Times are in units of the computing time; a missing link carries nothing.
  void limit_link(double Volume::*traffic, double rate, bool host_too) {
    std::vector<double> factors(kUnknowns);
    for (std::size_t group = 0; group < kGroups; ++group) {
      const double whole = volumes_[group].*traffic;
      const double time = rate > 0 ? whole * 1e9 / rate / compute() : (whole > 0 ? 1 / kNone : 0);
      factors[unknown(group, kInFile)] = time;
      if (host_too) factors[unknown(group, kOnHost)] = time;
    }
    factors[0] = -1;
    program_.at_most(std::move(factors), 0);
  }

  void limit_links() {
    std::vector<double> time(kUnknowns);
    time[0] = 1;
    program_.at_least(std::move(time), 1);
    const Machine& machine = ground_.machine;
    limit_link(&Volume::in, machine.in_rate, true);
    limit_link(&Volume::out, machine.out_rate, true);
    limit_link(&Volume::in, machine.file_read_rate, false);
    limit_link(&Volume::out, machine.file_write_rate, false);
  }

  void limit_tier(Tier tier, double capacity) {
    std::vector<double> factors(kUnknowns);
    double all = 1;
    for (const Volume& volume : volumes_) all += volume.bytes;
    for (std::size_t group = 0; group < kGroups; ++group) {
      factors[unknown(group, tier)] = volumes_[group].bytes / all;
    }
    program_.at_most(std::move(factors), std::max(0.0, capacity) / all);
  }

  void limit_room() {
    const auto bytes = [](Bytes amount) { return static_cast<double>(amount.value()); };
    const Machine& machine = ground_.machine;
    limit_tier(kOnDevice, FlexgenPolicy::kSafety * bytes(machine.device) - bytes(largest_step(ground_.iteration)));
    limit_tier(kOnHost, FlexgenPolicy::kSafety * bytes(machine.host));
    if (file_if_any(machine) != Location::kFile) limit_tier(kInFile, 0);
  }

  const PlanGround& ground_;
  const Volumes& volumes_;
  LinearProgram program_;
};

}  // namespace

OffloadPlan FlexgenPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  const Volumes volumes = volumes_of(ground);
  const std::optional<Shares> shares = Split(ground, volumes).solve();
  if (!shares) return std::move(ground.plan);
  std::array<double, kGroups> placed{};
  std::vector<std::optional<Tier>> tiers(iteration.runs.size());
  std::vector<Gap> host, file;
  for (const Gap& gap : ground.gaps) {
    const Group group = group_of(ground.class_of(gap));
    if (!tiers[gap.run]) {  // by the position of the run's middle in its group
      const auto bytes = static_cast<double>(ground.bytes_of(gap).value());
      const double middle = (placed[group] + bytes / 2) / std::max(volumes[group].bytes, 1.0);
      const double in_file = (*shares)[group][kInFile];
      tiers[gap.run] = middle < in_file ? kInFile : middle < in_file + (*shares)[group][kOnHost] ? kOnHost : kOnDevice;
      placed[group] += bytes;
    }
    if (*tiers[gap.run] == kOnHost) host.push_back(gap);
    if (*tiers[gap.run] == kInFile) file.push_back(gap);
  }
  ground.leave_for_queue(std::move(host), Location::kHost);
  ground.leave_for_queue(std::move(file), Location::kFile);
  return std::move(ground.plan);
}

}  // namespace tessera
