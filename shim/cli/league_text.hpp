// A league as JSON, as CSV, and as readable tables.
//
// The output depends neither on the date nor on the machine: equal leagues give equal bytes.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "league_row.hpp"

// One object, with one line per row.
std::string league_json(const League& league);
// One line per row, below a header.
std::string league_csv(const League& league);
// The ranking, and the best policies of each cell.
std::string league_table(const League& league);
