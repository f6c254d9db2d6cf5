#include "doctor_command.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "child_environment.hpp"
#include "folder_list.hpp"
#include "rounded.hpp"
#include "tessera/tessera.h"

namespace {

const char* word(Finding::State state) {
  switch (state) {
    case Finding::State::kGood: return "ok";
    case Finding::State::kLimited: return "limited";
    case Finding::State::kMissing: return "missing";
  }
  return "missing";
}

Finding judge_file(const char* name, const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return {name, Finding::State::kGood, path.string(), ""};
  }
  return {name, Finding::State::kMissing, path.string() + " is missing", "build or install all of Tessera"};
}

std::size_t count_of_libraries(const std::string& folder) {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    count += at->path().extension() == ".so" ? 1 : 0;
  }
  return count;
}

void print_text(const std::vector<Finding>& findings, const std::string& verdict) {
  std::size_t names = 0;
  for (const Finding& finding : findings) names = std::max(names, finding.name.size());
  for (const Finding& finding : findings) {
    fmt::print("{:<7}  {:<{}}  {}\n", word(finding.state), finding.name, names, finding.value);
    if (!finding.fix.empty()) fmt::print("{:<7}  {:<{}}  fix: {}\n", "", "", names, finding.fix);
  }
  fmt::print("{}\n", verdict);
}

void print_json(const std::vector<Finding>& findings, const std::string& verdict, bool gpu, bool software) {
  auto all = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    all.push_back(
        {{"name", finding.name}, {"state", word(finding.state)}, {"value", finding.value}, {"fix", finding.fix}});
  }
  const nlohmann::ordered_json report = {
      {"version", tessera_version()}, {"gpu", gpu}, {"software", software}, {"verdict", verdict}, {"findings", all}};
  fmt::print("{}\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

bool movable(const DriverFacts& facts) {
  bool any = false;
  for (const DeviceFacts& device : facts.devices) any |= device.virtual_memory;
  return facts.usable() && facts.tells_parameters && any;
}

}  // namespace

int doctor_command(const Installation& installation, const DoctorOptions& options) {
  // One driver per process: the real one is probed unless the software device is.
  const DriverFacts driver =
      probe_driver(options.software ? installation.software_driver().string() : std::string("libcuda.so.1"));
  std::vector<Finding> findings = judge_driver(driver, options.software);
  const LimitFacts limits = probe_limits();
  findings.push_back(judge_memory(limits));
  findings.push_back(judge_locked_memory(locked_memory_limit(), driver));
  findings.push_back(judge_huge_pages(huge_pages_mode()));
  for (Finding& finding : judge_limits(limits)) findings.push_back(std::move(finding));
  findings.push_back(judge_io_uring(probe_io_uring()));
  const std::vector<std::string> folders = folders_in(options.file_dir);
  if (folders.empty()) findings.push_back(judge_folder(choose_spill_folder()));
  for (const std::string& folder : folders) findings.push_back(judge_folder(probe_folder(folder)));
  for (const PresetOutcome& outcome : choose_presets(ChildEnvironment(), {}, TorchChoice::kAuto)) {
    findings.push_back(judge_preset(outcome));
  }
  const std::string listeners = torch_listener_folder(ChildEnvironment());
  findings.push_back(judge_torch_listeners(listeners, count_of_libraries(listeners)));
  findings.push_back(judge_file("preload library", installation.preload_library()));
  findings.push_back(judge_file("software device", installation.software_driver()));

  const bool preload = findings[findings.size() - 2].state == Finding::State::kGood;
  const bool software = preload && findings.back().state == Finding::State::kGood;
  const bool gpu = preload && !options.software && movable(driver);
  const std::string verdict = gpu        ? "Programs can run: tessera run -- program"
                              : software ? "Programs can run on the software device: tessera run --software -- program"
                                         : "Programs cannot run under Tessera here; see the lines with 'missing'";
  if (options.json) {
    print_json(findings, verdict, gpu, software);
  } else {
    print_text(findings, verdict);
  }
  return gpu || software ? 0 : 1;
}
