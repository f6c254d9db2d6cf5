// A policy benchmark as JSON, as CSV, and as readable tables.
//
// The output depends neither on the date nor on the machine: equal policy benchmarks give equal bytes.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "policy_bench_row.hpp"

// One object, with one line per row.
std::string policy_bench_json(const PolicyBench& bench);
// One line per row, below a header.
std::string policy_bench_csv(const PolicyBench& bench);
// The ranking, and the best policies of each cell.
std::string policy_bench_table(const PolicyBench& bench);
