// A pair of allocating and freeing pinned host memory: cached blocks of Tessera compared with the calls of the software
// device's driver, whose registration takes the time that is published for real ones (docs/realism.md).
//
// Goal: a cached pair within 200 ns at each size.
//
//   pinned_bench [--smoke] [--json]

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "must.hpp"
#include "program.hpp"
#include "tessera/host.h"
#include "tessera/interpose.h"
#include "timing.hpp"

namespace tessera::bench {
namespace {

constexpr double kPairGoal = 200;  // nanoseconds
constexpr Bytes kSizes[] = {4_KiB, 1_MiB, 64_MiB};
constexpr int kPairsOfRound = 10'000;

void* driver_symbol(const char* name, void* library) { return ::dlsym(library, name); }

void must_do(bool done, const char* what) { must(done ? Status() : Status(Code::kInternal, what)); }

// The software device's driver, its primary context, and an allocator on top of it.
class Machine {
 public:
  Machine() : library_(::dlopen(TESSERA_BENCH_BUILD_DIR "/lib/softcuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    must_do(library_ != nullptr, "the software device was not built");
    CUcontext context = nullptr;
    must_do(get<CUresult(unsigned)>("cuInit")(0) == CUDA_SUCCESS, "cuInit");
    must_do(get<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&context, 0) == CUDA_SUCCESS, "a context");
    must_do(get<CUresult(CUcontext)>("cuCtxSetCurrent")(context) == CUDA_SUCCESS, "cuCtxSetCurrent");
    allocate_ = get<CUresult(void**, std::size_t, unsigned)>("cuMemHostAlloc");
    free_ = get<CUresult(void*)>("cuMemFreeHost");
    tessera_options* options = nullptr;
    must_do(tessera_options_create(&options) == TESSERA_OK, "options");
    must_do(tessera_options_set(options, "host-memory", "512MiB") == TESSERA_OK, "host-memory");
    must_do(tessera_options_set_resolver(options, driver_symbol, library_) == TESSERA_OK, "the resolver");
    must_do(tessera_allocator_create(options, &allocator_) == TESSERA_OK, tessera_last_error());
    tessera_options_destroy(options);
  }
  ~Machine() { tessera_allocator_destroy(allocator_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void pair_of_ours(Bytes bytes) {
    void* memory = nullptr;
    must_do(tessera_host_malloc(allocator_, bytes.value(), &memory) == TESSERA_OK, "tessera_host_malloc");
    must_do(tessera_host_free(allocator_, memory) == TESSERA_OK, "tessera_host_free");
  }
  void pair_of_the_driver(Bytes bytes) {
    void* memory = nullptr;
    must_do(allocate_(&memory, bytes.value(), 0) == CUDA_SUCCESS, "cuMemHostAlloc");
    must_do(free_(memory) == CUDA_SUCCESS, "cuMemFreeHost");
  }

 private:
  template <class Function>
  Function* get(const char* name) {
    return reinterpret_cast<Function*>(driver_symbol(name, library_));
  }

  void* library_;  // never closed
  CUresult (*allocate_)(void**, std::size_t, unsigned) = nullptr;
  CUresult (*free_)(void*) = nullptr;
  tessera_allocator* allocator_ = nullptr;
};

struct Row {
  Bytes bytes;
  double ours = 0, driver = 0, ratio = 0;  // nanoseconds of a pair, and driver / ours; medians over the rounds

  bool reached() const { return ours <= kPairGoal; }
};

// Both sides in turn, so that other load affects them alike.
Row measure_size(Machine& machine, Bytes bytes, bool smoke) {
  const int rounds = smoke ? 1 : 21, pairs = smoke ? 10 : kPairsOfRound;
  std::vector<double> ours, driver, ratios;
  machine.pair_of_ours(bytes);
  for (int round = 0; round < rounds; ++round) {
    const double own = seconds([&] {
      for (int i = 0; i < pairs; ++i) machine.pair_of_ours(bytes);
    });
    const double other = seconds([&] { machine.pair_of_the_driver(bytes); });
    ours.push_back(own / pairs * 1e9);
    driver.push_back(other * 1e9);
    ratios.push_back(driver.back() / ours.back());
  }
  return {bytes, median(ours), median(driver), median(ratios)};
}

void print_rows(const std::vector<Row>& rows) {
  fmt::print("{:<24}{:>12}{:>16}{:>12}{:>12}\n", "pinned pair, ns", "block", "the driver's", "ours", "ratio");
  for (const Row& row : rows) {
    fmt::print("{:<24}{:>8} KiB{:>16.0f}{:>12.1f}{:>12.0f}  {}\n", "cached", row.bytes / 1_KiB, row.driver, row.ours,
               row.ratio, row.reached() ? "reached" : "missed");
  }
}

std::optional<Results> run(bool smoke) {
  Machine machine;
  std::vector<Row> rows;
  for (const Bytes bytes : kSizes) rows.push_back(measure_size(machine, bytes, smoke));
  nlohmann::ordered_json json;
  for (const Row& row : rows) {
    json["results"].push_back({{"bytes", row.bytes.value()},
                               {"ours_ns", row.ours},
                               {"driver_ns", row.driver},
                               {"ratio", row.ratio},
                               {"goal_ns", kPairGoal},
                               {"reached", row.reached()}});
  }
  return Results{json, [rows] { print_rows(rows); }};
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(argc, argv,
                                     {"Pairs of allocating and freeing pinned host memory, compared with the driver's",
                                      "a few pairs only: a smoke test", TESSERA_BENCH_BUILD_DIR, ""},
                                     tessera::bench::run);
}
