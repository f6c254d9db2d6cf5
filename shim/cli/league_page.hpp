// A league as one page of HTML that needs nothing else, not even a network.
//
// For each trace a curve of memory against throughput, as papers on rematerialisation draw it (ROK),
// and a table of step times over the lower bound.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "league_row.hpp"

std::string league_page(const League& league);
