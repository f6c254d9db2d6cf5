// A league as a self-contained HTML page that needs no network.
//
// For each trace: a curve of memory against throughput, as in papers on rematerialisation (ROK), and a table of step
// times over the lower bound.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "league_row.hpp"

std::string league_page(const League& league);
