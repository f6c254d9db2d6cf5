// Reads a ledger (tessera/node.h) whole.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "tessera/node.h"

// Errors: those of tessera_node_programs.
tessera_result read_node(const std::string& node, std::vector<tessera_node_program>& programs,
                         tessera_node_amounts& budgets);
// Errors: those of tessera_node_device_programs.
tessera_result read_devices(const std::string& node, std::vector<tessera_node_device_program>& programs);
