#include "lab/published/swapadvisor_policy.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "lab/published/object_walk.hpp"
#include "planning/forecast.hpp"
#include "policy/capuchin_policy.hpp"

namespace tessera {
namespace {

constexpr std::size_t kPopulation = 8;
constexpr std::size_t kWork = 2'000'000;  // total number of uses traversed

struct Individual {
  ObjectCounts genes;
  OffloadPlan plan;
  Forecast fitness;
};

bool is_fitter(const Individual& a, const Individual& b) { return is_better(a.fitness, b.fitness); }

class Breeding {
 public:
  Breeding(const Iteration& iteration, const Machine& machine, const ObjectWalk& walk, std::uint64_t seed)
      : iteration_(iteration), machine_(machine), walk_(walk), random_(seed + 1) {}

  // The survivors after this many trials, the fittest first.
  std::vector<Individual> live_after(std::size_t trials) {
    population_.push_back(grown(walk_.even_counts()));
    for (std::size_t i = 1; i < trials; ++i) {
      population_.push_back(grown(child()));
      std::stable_sort(population_.begin(), population_.end(), is_fitter);
      if (population_.size() > kPopulation) population_.pop_back();
    }
    return std::move(population_);
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  Individual grown(ObjectCounts genes) const {
    Individual one{std::move(genes), {}, {}};
    one.plan = walk_.plan(one.genes);
    one.fitness = forecast(iteration_, machine_, one.plan);
    return one;
  }

  ObjectCounts child() {
    ObjectCounts genes = population_[below(population_.size())].genes;
    const ObjectCounts& other = population_[below(population_.size())].genes;
    for (std::size_t i = 0; i < genes.size(); ++i) {
      if (below(2) == 0) genes[i] = other[i];
    }
    mutate(genes);
    return genes;
  }

  // Gives one class more objects and takes as many from others as needed.
  void mutate(ObjectCounts& genes) {
    const std::size_t richer = below(genes.size());
    const ObjectClass& own = walk_.classes()[richer];
    genes[richer] += static_cast<std::uint32_t>(below(own.most - genes[richer] + 1));
    std::vector<std::size_t> poorer;
    while (walk_.bytes_of(genes) > walk_.capacity()) {
      poorer.clear();
      for (std::size_t i = 0; i < genes.size(); ++i) {
        if (genes[i] > walk_.classes()[i].least) poorer.push_back(i);
      }
      --genes[poorer[below(poorer.size())]];
    }
  }

  const Iteration& iteration_;
  const Machine& machine_;
  const ObjectWalk& walk_;
  std::mt19937_64 random_;
  std::vector<Individual> population_;
};

// Even the minimum number of objects does not fit: rounding to object sizes costs more memory than there is.
bool is_too_tight(const ObjectWalk& walk) {
  return walk.classes().empty() || walk.bytes_of(walk.least_counts()) > walk.capacity();
}

std::vector<Individual> bred(const Iteration& iteration, const Machine& machine, const ObjectWalk& walk,
                             std::uint64_t seed) {
  const std::size_t uses = std::max<std::size_t>(1, iteration.uses.size());
  return Breeding(iteration, machine, walk, seed).live_after(std::clamp<std::size_t>(kWork / uses, 16, 64));
}

}  // namespace

OffloadPlan SwapadvisorPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  const ObjectWalk walk(iteration, machine);
  if (is_too_tight(walk)) return CapuchinPolicy().plan(iteration, machine);
  return std::move(bred(iteration, machine, walk, seed_).front().plan);
}

void SwapadvisorPolicy::strategies(const Iteration& iteration, const Machine& machine,
                                   const EmitCandidate& emit) const {
  const ObjectWalk walk(iteration, machine);
  if (is_too_tight(walk)) return Policy::strategies(iteration, machine, emit);
  std::vector<Individual> live = bred(iteration, machine, walk, seed_);
  if (!emit({name(), std::move(live.front().plan), this})) return;
  if (!emit({name(), walk.plan(walk.even_counts()), this})) return;
  for (std::size_t i = 1; i < live.size(); ++i) {
    if (!emit({name(), std::move(live[i].plan), this})) return;
  }
}

}  // namespace tessera
