// `tessera doctor`: the abilities of this machine, and the commands that fix what is missing.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "driver_probe.hpp"
#include "installation.hpp"
#include "limit_probe.hpp"
#include "machine_probe.hpp"
#include "presets.hpp"

struct Finding {
  enum class State { kGood, kLimited, kMissing };
  std::string name;
  State state = State::kGood;
  std::string value;
  std::string fix;  // "" if nothing has to be done
};

// Each depends on its arguments only, so that machines which we do not have can be tested too.
std::vector<Finding> judge_driver(const DriverFacts& facts, bool software);
Finding judge_locked_memory(std::optional<std::uint64_t> limit, const DriverFacts& driver);
Finding judge_huge_pages(const std::string& mode);
Finding judge_memory(const LimitFacts& facts);
// One for each limit that is known to cause problems, and one for the processors.
std::vector<Finding> judge_limits(const LimitFacts& facts);
Finding judge_io_uring(const UringFacts& facts);
Finding judge_folder(const FolderFacts& facts);

Finding judge_preset(const PresetOutcome& outcome);
// `folder`: "" if there is none.
Finding judge_torch_listeners(const std::string& folder, std::size_t built);

struct DoctorOptions {
  bool json = false;
  bool software = false;
  std::string file_dir;
};
// 0 if programs can run under Tessera here, on a GPU or on the software device.
int doctor_command(const Installation& installation, const DoctorOptions& options);
