// first_light --list | first_light NAME...: runs driver probes, one line of JSON each.
//
// Stops early, with exit code 3, if a probe left the context unusable: the remaining probes need a new process.
// Otherwise the exit code is 0, also if an answer is "no", "failed" or "not supported here".
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "probe.hpp"

namespace first_light {
namespace {

std::vector<Probe> all_probes() {
  std::vector<Probe> all;
  for (const auto& group :
       {fact_probes(), mapping_probes(), swap_probes(), race_probes(), query_probes(), transfer_probes(),
        graph_probes(), atomic_probes(), bulk_copy_probes(), call_cost_probes(), link_probes(), disk_probes(),
        address_probes(), handle_probes(), queue_probes(), eviction_probes(), remap_cost_probes()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

Json ask(const Probe& probe, const Settings& settings) {
  Json line = {{"probe", probe.name}, {"question", probe.question}};
  const Watch watch;
  try {
    Answer answer = probe.ask(settings);
    line["answer"] = answer.answer;
    line["results"] = std::move(answer.results);
  } catch (const NotHere& reason) {
    line["answer"] = "not supported here";
    line["why"] = reason.why;
  } catch (const Failure& failure) {
    const bool absent = failure.code == CUDA_ERROR_NOT_SUPPORTED;
    line["answer"] = absent ? "not supported here" : "failed";
    line["call"] = failure.call;
    line.update(outcome(failure.code));
  }
  line["seconds"] = watch.seconds();
  return line;
}

constexpr int kContextLost = 3;

bool context_lost() {
  CUcontext current = nullptr;
  return cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr && cuCtxSynchronize() != CUDA_SUCCESS;
}

int run(int argc, char** argv) {
  bool list = false;
  std::vector<std::string> names;
  Settings settings;
  CLI::App app("Answers one question about the driver of a GPU");
  app.add_flag("--list", list, "list all questions");
  app.add_flag("--quick", settings.quick, "a few rounds only: a smoke test");
  app.add_option("--directory", settings.directory, "directory for questions about the disk");
  app.add_option("names", names, "the questions");
  CLI11_PARSE(app, argc, argv);
  const std::vector<Probe> probes = all_probes();
  if (list) {
    for (const Probe& probe : probes) std::cout << probe.name << "\n";
  }
  for (const std::string& name : names) {
    const auto found =
        std::find_if(probes.begin(), probes.end(), [&](const Probe& probe) { return name == probe.name; });
    if (found == probes.end()) {
      std::cerr << "first_light: unknown question: " << name << "\n";
      return EXIT_FAILURE;
    }
    std::cout << ask(*found, settings).dump() << std::endl;
    if (context_lost()) return kContextLost;
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace first_light

int main(int argc, char** argv) { return first_light::run(argc, argv); }
