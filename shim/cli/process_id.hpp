// A command's argument that names a running program.
//
// Thread safety: a pure function.
#pragma once

#include <CLI/CLI.hpp>

// Refuses what is no process id, and says where ids are listed.
CLI::Validator is_process_id();
