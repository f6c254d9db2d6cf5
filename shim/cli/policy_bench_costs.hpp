// What the replays of a policy benchmark cost in processor time, and what `auto` adds to it beside the program.
//
// A replay under `recency` does all that one under `auto` does but learn, plan and simulate, so the difference is what
// `auto` takes beside the program. The figures depend on the machine and on what else it does: they are kept apart from
// the results, which do not.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "policy_bench_row.hpp"

// One line per row, below a header; also for rows that failed. Those that were not replayed have no time.
std::string policy_bench_costs_csv(const PolicyBench& bench);
// Each cell that both `auto` and `recency` finished, and the mean and worst of them; "" if there is none.
std::string policy_bench_costs_table(const PolicyBench& bench);
