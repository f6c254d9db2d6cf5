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
  std::vector<tessera_node_device_program> device_programs;  // device by device
  // By process id; those that could not be asked are missing.
  std::map<std::int64_t, std::string> states;       // "asleep"
  std::map<std::int64_t, std::string> state_texts;  // "asleep 9h"
};

// What one program has of a device: "holds 48.0 MiB of 60.0 MiB, limit 64.0 MiB, has its turn, turns 3, waited 1.2 s".
std::string device_share_text(const tessera_node_device_program& program);
nlohmann::json device_share_json(const tessera_node_device_program& program);

std::string share_table(const ShareView& view);
// REQUIRES: programs, of the machine or of a device.
std::string share_html_tables(const ShareView& view);
nlohmann::json share_json(const ShareView& view);
