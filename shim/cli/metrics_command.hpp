// `tessera metrics`: the figures of this user's running programs for a collector, once or by HTTP.
//
// Thread safety: none.
#pragma once

#include <string>

struct MetricsOptions {
  std::string serve;  // ADDRESS:PORT; empty: print them once
};

// Serves until it is ended, or prints once. Returns the exit code.
int metrics_command(const MetricsOptions& options);
