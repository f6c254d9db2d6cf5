// A league as JSON, as CSV, and as tables for people.
//
// Nothing in them depends on the day or the machine: equal leagues give equal bytes.
//
// Thread safety: stateless.
#pragma once

#include <string>

#include "league_row.hpp"

// One object; a line for each of its rows.
std::string league_json(const League& league);
// A line for each row, with a heading.
std::string league_csv(const League& league);
// The standings, and who is first in each cell.
std::string league_table(const League& league);
