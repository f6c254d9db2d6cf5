#include "lab/published/tba_policy.hpp"

#include <numeric>
#include <utility>

#include "policy/plan_ground.hpp"

namespace tessera {

std::size_t TbaPolicy::layers_leaving(const std::vector<Bytes>& bytes, const std::vector<double>& forward,
                                      double write_rate) {
  const double all = std::accumulate(forward.begin(), forward.end(), 0.0);
  double bytes_before = 0, time_before = 0;
  for (std::size_t layer = 0; layer + 1 < bytes.size(); ++layer) {
    const auto own = static_cast<double>(bytes[layer].value());
    const double volume = bytes_before + 2 * own;
    const double time = 3 * all - 2 * time_before;
    if (volume * 1e9 > write_rate * time) return layer;
    bytes_before += own;
    time_before += forward[layer];
  }
  return bytes.empty() ? 0 : bytes.size() - 1;
}

OffloadPlan TbaPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  const Location to = file_if_any(machine);
  const std::vector<std::vector<Gap>> layers = ground.saved_by_layer();
  std::vector<Bytes> bytes;
  std::vector<double> forward;
  double begin = 0;
  for (const std::vector<Gap>& layer : layers) {
    Bytes sum;
    for (const Gap& gap : layer) sum += ground.bytes_of(gap) >= least_ ? ground.bytes_of(gap) : Bytes();
    bytes.push_back(sum);
    const double end = ground.time.begin_of(layer.back().after + 1);
    forward.push_back(end - begin);
    begin = end;
  }
  const double rate = to == Location::kFile ? machine.file_write_rate : machine.out_rate;
  const std::size_t leaving = layers_leaving(bytes, forward, rate);
  std::vector<Gap> chosen;
  for (std::size_t i = 0; i < leaving; ++i) {
    for (const Gap& gap : layers[i]) {
      const bool large = ground.bytes_of(gap) >= least_;
      if (large && ground.time.steps_inside(gap) > 0) chosen.push_back(gap);
    }
  }
  ground.leave_in_chain(std::move(chosen), to);
  return std::move(ground.plan);
}

}  // namespace tessera
