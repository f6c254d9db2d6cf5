#include "policy/mpress_policy.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "planning/occupancy.hpp"
#include "policy/plan_ground.hpp"

namespace tessera {
namespace {

class Assignment {
 public:
  explicit Assignment(PlanGround& ground)
      : ground_(ground),
        occupancy_(ground.iteration, ground.machine.device, ground.time),
        peer_left_(has_peer(ground.machine) ? ground.machine.peer : Bytes()),
        out_left_(time_of_link(ground)),
        in_left_(out_left_) {}

  bool fits() const { return occupancy_.fits(); }

  // Returns false if no tier hides the gap's copies; it is then not taken. Returns true also if taking it would
  // not help, since there is nothing else to try.
  bool take_hidden(const Gap& gap) {
    const double out = ground_.time.copy_out(gap.run), in = ground_.time.copy_in(gap.run);
    if (ground_.time.free_time(gap) >= 0 && out <= out_left_ && in <= in_left_) {
      if (!take(ground_.in_time(gap))) return true;
      out_left_ -= out;
      in_left_ -= in;
      return true;
    }
    if (ground_.bytes_of(gap) <= peer_left_ && ground_.time.free_time(gap, Location::kPeer) >= 0) {
      take(ground_.in_time(gap, Location::kPeer));
      return true;
    }
    if (ground_.iteration.runs[gap.run].recompute == Nanoseconds()) return false;
    take({.gap = gap, .back_at = gap.until, .to = Location::kNowhere});
    return true;
  }

  void take_exposed(const Gap& gap) {
    const bool peer = ground_.bytes_of(gap) <= peer_left_ && ground_.machine.peer_rate > ground_.machine.in_rate;
    take({.gap = gap, .back_at = gap.until, .to = peer ? Location::kPeer : Location::kHost});
  }

 private:
  // The time of the host link per iteration.
  static double time_of_link(const PlanGround& ground) {
    return has_peer(ground.machine) ? static_cast<double>(computing_time(ground.iteration).value())
                                    : std::numeric_limits<double>::infinity();
  }
  // Returns false and does nothing if the interval would not help.
  bool take(const OffloadInterval& interval) {
    if (!occupancy_.helps(interval)) return false;
    occupancy_.take(interval);
    if (interval.to == Location::kPeer) peer_left_ -= ground_.bytes_of(interval.gap);
    ground_.plan.push_back(interval);
    return true;
  }

  PlanGround& ground_;
  Occupancy occupancy_;
  Bytes peer_left_;
  double out_left_, in_left_;  // of the host link, in nanoseconds
};

}  // namespace

OffloadPlan MpressPolicy::plan(const Iteration& iteration, const Machine& machine) const {
  PlanGround ground(iteration, machine);
  std::vector<Gap> longest = ground.gaps, exposed;
  std::stable_sort(longest.begin(), longest.end(),
                   [&](const Gap& a, const Gap& b) { return ground.time.between(a) > ground.time.between(b); });
  Assignment assignment(ground);
  for (const Gap& gap : longest) {
    if (assignment.fits()) break;
    if (!assignment.take_hidden(gap)) exposed.push_back(gap);
  }
  for (const Gap& gap : exposed) {
    if (assignment.fits()) break;
    assignment.take_exposed(gap);
  }
  return std::move(ground.plan);
}

}  // namespace tessera
