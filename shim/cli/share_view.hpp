// The output of `tessera share`: a ledger's programs in tables and as JSON.
//
// Thread safety: values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/node.h"

struct ShareView {
  tessera_node_amounts budgets{};
  std::vector<tessera_node_program> programs;
  // By process id; those that could not be asked are missing.
  std::map<std::int64_t, std::string> states;       // "asleep"
  std::map<std::int64_t, std::string> state_texts;  // "asleep 9h"
};

std::string share_table(const ShareView& view);
// REQUIRES: programs.
std::string share_html_table(const ShareView& view);
nlohmann::json share_json(const ShareView& view);
