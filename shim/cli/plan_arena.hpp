// `tessera plan arena RECORDS.csv`: what every static planner needs for the same blocks.
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

// 0; 1 for records that cannot be planned, with one line on standard error.
int plan_arena_command(const PlanArenaOptions& options);

// Reads lines of `bytes,first,last` under a line that names these columns, in any order.
// "" or what is wrong, with the line's number.
std::string read_records(std::istream& text, std::vector<tessera_plan_record>& records);

// For people, and for programs: one JSON object.
std::string arena_table(const tessera_arena_figures& figures);
std::string arena_json(const tessera_arena_figures& figures);
