// Which absences of a plan are spent with a peer, where one lends less than all of them need.
//
// What a peer lends serves the more traffic the sooner each is back, so where it is full whoever is back last goes
// to the host instead. With runs of one size no other choice has more of them with the peer (Faigle and Nawijn,
// Discrete Applied Mathematics 58, 1995); MPress (papers.md §3.7) goes by the length of the gap as well.
//
// Thread safety: pure function.
#pragma once

#include "learn/absence.hpp"

namespace tessera {

// The same plan, with those of its absences with the peer; as it is where none lends.
AbsencePlan spend_with_peer(const Iteration& iteration, const Machine& machine, AbsencePlan plan);

}  // namespace tessera
