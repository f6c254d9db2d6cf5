// Where the absences of a plan are spent, where the nearest memory has less room than all of them need.
//
// What is lent by a peer, and what is in the host where it is short, serves the more traffic the sooner each is back, so
// where it is full whoever is back last goes one further. With runs of one size no other choice has more of them near
// (Faigle and Nawijn, Discrete Applied Mathematics 58, 1995); MPress (papers.md §3.7) goes by the length of the gap as
// well.
//
// Thread safety: pure functions.
#pragma once

#include "learn/absence.hpp"

namespace tessera {

// The same plan, with those of its absences with the peer; as it is where none lends.
AbsencePlan spend_with_peer(const Iteration& iteration, const Machine& machine, AbsencePlan plan);

// There is one, and device and host together have no room for all.
bool needs_file(const Iteration& iteration, const Machine& machine);

// The same plan, with those of its absences in the file for which the host has no room; as it is where there is no file.
// What no step uses is not counted.
AbsencePlan spend_in_file(const Iteration& iteration, const Machine& machine, AbsencePlan plan);

}  // namespace tessera
