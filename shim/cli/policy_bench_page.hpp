// A policy benchmark as a self-contained HTML page that needs no network.
//
// For each trace: a curve of memory against throughput, as in papers on rematerialisation (ROK), and a table of step
// times over the lower bound.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "policy_bench_row.hpp"

std::string policy_bench_page(const PolicyBench& bench);
