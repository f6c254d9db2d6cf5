#include "node/shares.hpp"

#include <algorithm>

namespace tessera {
namespace {

// The members of each job, and each program of no job alone.
using Jobs = std::vector<std::vector<std::size_t>>;

Bytes demand_of(const Claimant& claimant) { return std::max(claimant.held, claimant.wanted); }

Bytes part_of(Bytes whole, std::uint64_t weight, std::uint64_t weights) {
  const auto part = static_cast<unsigned __int128>(whole.value()) * weight / weights;
  return Bytes(static_cast<std::uint64_t>(part));
}

// In the order of what they want for their weight: what the first ones leave raises the parts of all others.
std::vector<Bytes> divide(Bytes budget, std::span<const Claimant> claimants) {
  std::vector<std::size_t> order(claimants.size());
  std::uint64_t weights = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    weights += claimants[i].weight;
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const auto scaled = [&](std::size_t i, std::size_t by) {
      return static_cast<unsigned __int128>(demand_of(claimants[i]).value()) * claimants[by].weight;
    };
    return scaled(a, b) < scaled(b, a);
  });
  std::vector<Bytes> shares(claimants.size());
  Bytes rest = budget;
  for (const std::size_t i : order) {
    shares[i] = std::min(demand_of(claimants[i]), part_of(rest, claimants[i].weight, weights));
    rest -= shares[i];
    weights -= claimants[i].weight;
  }
  return shares;
}

Jobs jobs_of(std::span<const Claimant> claimants) {
  Jobs jobs;
  for (std::size_t i = 0; i < claimants.size(); ++i) {
    const auto same = [&](const std::vector<std::size_t>& job) {
      return claimants[i].job != 0 && claimants[job.front()].job == claimants[i].job;
    };
    const auto known = std::ranges::find_if(jobs, same);
    if (known == jobs.end()) {
      jobs.push_back({i});
    } else {
      known->push_back(i);
    }
  }
  return jobs;
}

std::vector<Claimant> members(std::span<const Claimant> claimants, const std::vector<std::size_t>& job) {
  std::vector<Claimant> all;
  for (const std::size_t i : job) all.push_back(claimants[i]);
  return all;
}

Claimant as_one(std::span<const Claimant> programs) {
  Claimant job;
  for (const Claimant& program : programs) {
    job.wanted += demand_of(program);
    job.weight = std::max(job.weight, program.weight);
  }
  return job;
}

}  // namespace

std::vector<Bytes> fair_shares(Bytes budget, std::span<const Claimant> claimants) {
  const Jobs jobs = jobs_of(claimants);
  std::vector<Claimant> each;
  for (const auto& job : jobs) each.push_back(as_one(members(claimants, job)));
  const std::vector<Bytes> parts = divide(budget, each);
  std::vector<Bytes> shares(claimants.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::vector<Bytes> inside = divide(parts[j], members(claimants, jobs[j]));
    for (std::size_t i = 0; i < inside.size(); ++i) shares[jobs[j][i]] = inside[i];
  }
  return shares;
}

Entitlement entitlement(Bytes budget, std::span<const Claimant> claimants, std::size_t index) {
  Bytes left = budget;
  for (const Claimant& claimant : claimants) left -= std::min(left, claimant.held);
  const Bytes share = fair_shares(budget, claimants)[index];
  const Bytes held = claimants[index].held;
  return {share, left, held > share ? held - share : Bytes()};
}

}  // namespace tessera
