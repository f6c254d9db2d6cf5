// A whole program under `tessera run`: with ample device memory, and on a device with a third of its live peak and too
// little host memory for the rest. Each is compared with the same program alone, in turn.
//
// Time is that of the process from start to end. Goals: at most 1.03 times as long with ample memory, at most 3 times
// with a third.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "program.hpp"
#include "timing.hpp"
#include "training.hpp"

namespace tessera::bench {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kAmple = 4096 * kMiB;
const std::string kBuild = TESSERA_BENCH_BUILD_DIR;

struct Way {
  const char* name;
  double goal;  // largest ratio to the time of the program alone; 0 is none
  std::vector<std::string> command;
  std::vector<double> seconds{};
};

std::vector<std::string> under_tessera(std::uint64_t device, std::vector<std::string> options,
                                       const std::vector<std::string>& command) {
  std::vector<std::string> words = {kBuild + "/bin/tessera", "run", "--software", "--software-memory",
                                    std::to_string(device)};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

class Bench {
 public:
  explicit Bench(bool smoke) : losses_(fmt::format("/tmp/program_bench_{}", ::getpid())) {
    const Training training{kBuild + "/lib/tessera/train", kBuild + "/lib/tessera/train_kernels.so", smoke ? 1 : 4};
    alone_ = training.command(losses_);
    environment_.set("LD_LIBRARY_PATH", kBuild + "/lib/softcuda");
    environment_.set("TESSERA_SOFTWARE_MEMORY", std::to_string(kAmple));
  }
  ~Bench() { ::unlink(losses_.c_str()); }

  // Returns false if a run failed or computed a different result.
  bool measure(int turns) {
    // The first run warms up, and determines how much memory a third is.
    const TrainingResult first = train(alone_, environment_, losses_);
    if (!well(first, first)) return false;
    const std::uint64_t third = first.live_peak / 3;
    ways_ = {{"alone, ample memory", 0, alone_},
             {"tessera run, ample memory", 1.03, under_tessera(kAmple, {}, alone_)},
             {"tessera run, a third", 3.0,
              under_tessera(third,
                            {"--host-memory", std::to_string(first.live_peak / 4), "--file-dir", "/var/tmp",
                             "--file-memory", std::to_string(2 * first.live_peak)},
                            alone_)}};
    for (int turn = 0; turn < turns; ++turn) {
      for (Way& way : ways_) {
        const TrainingResult result = train(way.command, environment_, losses_);
        if (!well(result, first)) return false;
        way.seconds.push_back(result.process.seconds);
      }
    }
    return true;
  }

  void print() const {
    fmt::print("\n{:<26} {:>10} {:>10} {:>10} {:>6}\n", "training program", "median s", "least s", "ratio", "goal");
    for (const Way& way : ways_) {
      fmt::print("{:<26} {:>10.3f} {:>10.3f} {:>10.3f} {:>6}\n", way.name, median(way.seconds), least(way), ratio(way),
                 way.goal > 0 ? fmt::format("{:.2f}", way.goal) : "");
    }
  }

  nlohmann::ordered_json json() const {
    auto results = nlohmann::ordered_json::array();
    for (const Way& way : ways_) {
      results.push_back({{"name", way.name},
                         {"seconds", way.seconds},
                         {"median_seconds", median(way.seconds)},
                         {"ratio", ratio(way)},
                         {"goal", way.goal}});
    }
    return results;
  }

 private:
  static double least(const Way& way) { return *std::min_element(way.seconds.begin(), way.seconds.end()); }
  double ratio(const Way& way) const { return median(way.seconds) / median(ways_[0].seconds); }

  static bool well(const TrainingResult& result, const TrainingResult& first) {
    if (result.well() && result.live_peak > 0 && result.losses == first.losses) return true;
    fmt::print(stderr, "the program failed, or computed different losses:\n{}\n", result.process.output);
    return false;
  }

  const std::string losses_;
  std::vector<std::string> alone_;
  ChildEnvironment environment_;
  std::vector<Way> ways_;
};

std::optional<Results> run(bool smoke) {
  const auto bench = std::make_shared<Bench>(smoke);
  if (!bench->measure(smoke ? 1 : 5)) return std::nullopt;
  return Results{{{"results", bench->json()}}, [bench] { bench->print(); }};
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(argc, argv,
                                     {"A whole program under tessera run, compared with the program alone",
                                      "one step: a smoke test", TESSERA_BENCH_BUILD_DIR, "/var/tmp"},
                                     tessera::bench::run);
}
