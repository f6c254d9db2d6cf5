// `tessera share`: what the programs of this user hold of the machine's memory and of its devices and may hold, by the
// ledger (tessera/node.h); `tessera share PID --weight N --device-limit SIZE` changes what one of them may hold.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

struct ShareOptions {
  explicit ShareOptions(CLI::App& app);

  std::string node = "default";
  int pid = 0;               // 0: all are shown
  std::uint32_t weight = 0;  // 0: none is set
  std::string device_limit;  // "": none is set
  std::string device;        // the beginning of a UUID
  bool json = false;
};

// Returns 0; on failure prints the reason and returns 1, or 2 for an invalid value.
int share_command(const ShareOptions& options);
