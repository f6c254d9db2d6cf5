#include "demo_command.hpp"

#include <stdlib.h>

#include <fmt/core.h>

#include "demo_report.hpp"
#include "driver_probe.hpp"
#include "folder_list.hpp"
#include "machine_probe.hpp"
#include "report_command.hpp"
#include "rounded.hpp"
#include "run_command.hpp"

namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kAmpleSoftware = 4096 * kMiB;

// The folder for this run's files: losses, statistics, timeline, report. It is kept, as the user is shown its path.
fs::path make_folder() {
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string name = (base / "tessera-demo-XXXXXX").string();
  return ::mkdtemp(name.data()) == nullptr ? fs::path() : fs::path(name);
}

class Demo {
 public:
  Demo(const Installation& installation, const DemoOptions& options) : installation_(installation), options_(options) {}

  // "" or the reason why the demo cannot run.
  std::string choose_device();
  // Runs (a), (b) and (c) as far as they make sense.
  void run();
  void clean() const;
  const DemoReport& report() const { return report_; }

 private:
  std::string choose_spill_folders();
  ChildEnvironment plain_environment() const;
  void run_alone();
  void run_small_alone();
  void run_small_tessera();
  void say(const std::string& line) const {
    if (!options_.json) fmt::print("{}\n", line), std::fflush(stdout);
  }
  std::string file(const char* name) const { return (folder_ / name).string(); }

  const Installation& installation_;
  const DemoOptions& options_;
  bool software_ = false;
  Training training_;
  fs::path folder_;
  std::string file_dir_;
  DemoReport report_;
};

std::string Demo::choose_device() {
  const bool gpu = !options_.software && has_usable_gpu();
  const fs::path for_gpu = installation_.program("train_kernels.fatbin");
  const fs::path for_software = installation_.program("train_kernels.so");
  std::error_code error;
  software_ = !gpu || !fs::exists(for_gpu, error);
  training_ = {installation_.program("train").string(), (software_ ? for_software : for_gpu).string(), options_.steps};
  for (const std::string& needed : {training_.program, training_.kernels, installation_.preload_library().string()}) {
    if (!fs::exists(needed, error)) return needed + " is missing; build all of Tessera";
  }
  if (gpu && software_) say("There is a GPU, but this build has no kernels for it: make gpu-bundle");
  report_.ample = kAmpleSoftware;
  report_.device = "software device (no GPU is used)";
  if (!software_) {
    const DriverFacts driver = probe_driver("libcuda.so.1");
    if (!driver.usable()) return "the GPU cannot be used: " + driver.problem;
    report_.device = driver.devices[0].name;
    report_.ample = driver.devices[0].free_bytes;
  }
  const std::string problem = choose_spill_folders();
  if (!problem.empty()) return problem;
  folder_ = make_folder();  // last, since the folder is not removed on failure
  return folder_.empty() ? "cannot create a temporary directory" : "";
}

// "" or the reason why one of them is unusable.
std::string Demo::choose_spill_folders() {
  std::vector<FolderFacts> spills;
  for (const std::string& folder : folders_in(options_.file_dir)) spills.push_back(probe_folder(folder));
  if (spills.empty()) spills.push_back(choose_spill_folder());
  std::vector<std::string> folders;
  for (const FolderFacts& spill : spills) {
    if (!spill.problem.empty())
      return fmt::format("{}: {}; --file-dir names another folder", spill.path, spill.problem);
    folders.push_back(spill.path);
  }
  file_dir_ = folder_list(folders);
  return "";
}

ChildEnvironment Demo::plain_environment() const {
  ChildEnvironment environment;
  if (software_) use_software_device(installation_, environment);
  return environment;
}

void Demo::run_alone() {
  say(fmt::format("device: {}\n(a) {} of device memory ...", report_.device, rounded_bytes(report_.ample)));
  ChildEnvironment environment = plain_environment();
  if (software_) environment.set("TESSERA_SOFTWARE_MEMORY", std::to_string(report_.ample));
  const std::string losses = file("losses-a");
  report_.alone = train(training_.command(losses), environment, losses);
}

void Demo::run_small_alone() {
  say(fmt::format("(b) {} of device memory, a third of the live peak, without Tessera ...",
                  rounded_bytes(report_.small)));
  ChildEnvironment environment = plain_environment();
  // A GPU cannot be made smaller: there the program itself first allocates all but a third.
  std::uint64_t occupy = 0;
  if (software_) {
    environment.set("TESSERA_SOFTWARE_MEMORY", std::to_string(report_.small));
  } else {
    occupy = report_.ample > report_.small ? report_.ample - report_.small : 0;
  }
  const std::string losses = file("losses-b");
  report_.small_alone = train(training_.command(losses, occupy), environment, losses);
}

void Demo::run_small_tessera() {
  // Device and host memory together hold well under two thirds: the rest has to be spilled to the file.
  const std::uint64_t host = report_.alone.live_peak / 4 / (2 * kMiB) * (2 * kMiB);
  say(fmt::format("(c) the same under Tessera, {} of pinned host memory, the rest in a spill file in {} ...",
                  rounded_bytes(host), file_dir_));
  RunOptions options;
  options.software = software_;
  if (software_) options.software_memory = std::to_string(report_.small);
  if (!software_) options.set("device-memory", std::to_string(report_.small));
  options.set("host-memory", std::to_string(host));
  options.set("file-memory", std::to_string(2 * report_.alone.live_peak));
  options.set("file-dir", file_dir_);
  options.set("stats", file("stats.json"));
  options.set("timeline", file("timeline.json"));
  options.set("history", file("history.json"));
  ChildEnvironment environment;
  const std::string problem = prepare(installation_, options, environment);
  if (!problem.empty()) {
    report_.small_tessera.process.problem = problem;
    return;
  }
  const std::string losses = file("losses-c");
  report_.small_tessera = train(training_.command(losses), environment, losses);
  if (!read_figures(file("stats.json"), report_.figures)) say("(c) wrote no statistics");
  report_.timeline = file("timeline.json");
  report_.page = file("report.html");
  if (const std::string problem = write_report(file("history.json"), report_.page); !problem.empty()) {
    say(problem);
    report_.page.clear();
  }
}

void Demo::run() {
  run_alone();
  if (!report_.alone.well() || report_.alone.live_peak == 0) return;
  report_.small = report_.alone.live_peak / 3;
  run_small_alone();
  run_small_tessera();
}

// The losses have been compared; files worth looking at stay.
void Demo::clean() const {
  std::error_code error;
  for (const char* name : {"losses-a", "losses-b", "losses-c"}) fs::remove(file(name), error);
  fs::remove(folder_, error);  // only if nothing is left in it
}

void print_output_of(const char* name, const TrainingResult& result) {
  if (!result.process.output.empty()) {
    fmt::print("--- what {} said\n{}\n", name, result.process.output);
  }
}

}  // namespace

int demo_command(const Installation& installation, const DemoOptions& options) {
  Demo demo(installation, options);
  const std::string problem = demo.choose_device();
  if (!problem.empty()) {
    fmt::print(stderr, "tessera: {}\n", problem);
    return 2;
  }
  demo.run();
  demo.clean();
  const DemoReport& report = demo.report();
  const std::vector<std::string> faults = report.faults();
  if (options.json) {
    fmt::print("{}\n", report.json());
    return faults.empty() ? 0 : 1;
  }
  fmt::print("\n{}\n", report.table());
  for (const std::string& fault : faults) fmt::print("FAILED: {}\n", fault);
  if (!faults.empty()) {
    if (!report.alone.well()) print_output_of("(a)", report.alone);
    if (!report.small_tessera.well()) print_output_of("(c)", report.small_tessera);
    return 1;
  }
  fmt::print("The {} losses of (a) and (c) are bit-identical.\n", report.alone.losses.size());
  if (!report.page.empty()) fmt::print("Report on (c): {}\n", report.page);
  fmt::print("Timeline of (c), for https://ui.perfetto.dev: {}\n", report.timeline);
  return 0;
}
