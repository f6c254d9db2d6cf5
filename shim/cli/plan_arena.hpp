// `tessera plan arena RECORDS.csv`: the memory that every static planner needs for the same blocks.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "tessera/plan.h"

struct PlanArenaOptions {
  std::string records;
  bool json = false;
};

// 0; 1 if the records cannot be planned, with one line on standard error.
int plan_arena_command(const PlanArenaOptions& options);

// Reads lines of `bytes,first,last` below a header that names these columns, in any order. Returns "" or the error,
// with the line number.
std::string read_records(std::istream& text, std::vector<tessera_plan_record>& records);

// As a readable table, and as one JSON object.
std::string arena_table(const tessera_arena_figures& figures);
std::string arena_json(const tessera_arena_figures& figures);
