// How fast this device computes fingerprints of pages, compared with copying them: whether alloc/driver/fingerprint.cu
// pays here.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "heap.hpp"

namespace first_light {
namespace {

// As in alloc/driver/fingerprint.cu.
constexpr std::size_t kMostRanges = 64, kPart = 64 << 10;
constexpr unsigned kThreads = 256;
struct Ranges {
  std::uint64_t address[kMostRanges]{};
  std::uint32_t parts[kMostRanges]{};
  std::uint32_t first[kMostRanges]{};
};

// The kernel as the driver compiles it for this device from the embedded PTX, and how long that takes.
class Kernel {
 public:
  Kernel() {
    const auto file = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fingerprint.ptx";
    const Watch watch;
    CUmodule module = nullptr;
    must(cuModuleLoad(&module, file.c_str()), "cuModuleLoad(fingerprint.ptx)");
    MUST(cuModuleGetFunction(&function_, module, "tessera_fingerprint"));
    seconds_ = watch.seconds();
  }
  double seconds() const { return seconds_; }
  void launch(Ranges ranges, unsigned count, CUdeviceptr results, CUstream stream) const {
    const unsigned longest = *std::max_element(ranges.parts, ranges.parts + count);
    std::array<void*, 2> parameters{&ranges, &results};
    MUST(cuLaunchKernel(function_, longest, count, 1, kThreads, 1, 1, 0, stream, parameters.data(), nullptr));
  }

 private:
  CUfunction function_ = nullptr;
  double seconds_ = 0;
};

double median_microseconds(int rounds, const Stream& stream, auto work) {
  work();
  stream.wait();
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const Event start, end;
    MUST(cuEventRecord(start, stream));
    work();
    MUST(cuEventRecord(end, stream));
    stream.wait();
    times.push_back(1e3 * end.since(start));
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds) / 2];
}

// As far as the block is large enough, each call reads other bytes than the call before: cache hits must not count.
Json speed(bool quick) {
  const Gpu gpu;
  const Kernel kernel;
  const Stream stream;
  const std::size_t all = quick ? 64 * kMiB : 2048 * kMiB;
  const PlainBlock block(all);
  const PinnedHost host(32 * kMiB), results(16 * kMiB / kPart * kMostRanges);
  CUdeviceptr to = 0;
  MUST(cuMemHostGetDevicePointer(&to, results.as<void>(), 0));
  MUST(cuMemsetD8Async(block, 1, all, stream));
  Json found = {{"load_seconds", kernel.seconds()}};
  const int rounds = quick ? 3 : 200;
  for (const auto& [page, count] :
       {std::pair{2 * kMiB, 1U}, {2 * kMiB, 4U}, {2 * kMiB, 32U}, {32 * kMiB, 1U}, {32 * kMiB, 2U}}) {
    std::size_t at = 0;
    const auto next = [&] {
      const std::size_t here = at;
      at = at + 2 * page > all ? 0 : at + page;
      return here;
    };
    const double us = median_microseconds(rounds, stream, [&] {
      Ranges ranges;
      for (unsigned i = 0; i < count; ++i) {
        ranges.address[i] = block + next();
        ranges.parts[i] = static_cast<std::uint32_t>(page / kPart);
        ranges.first[i] = i * ranges.parts[i];
      }
      kernel.launch(ranges, count, to, stream);
    });
    const double copy_us = median_microseconds(std::min(rounds, 50), stream, [&] {
      for (unsigned i = 0; i < count; ++i) MUST(cuMemcpyDtoHAsync(host.as<void>(), block + next(), page, stream));
    });
    const double bytes = static_cast<double>(page) * count;
    found[std::to_string(count) + " x " + std::to_string(page / kMiB) + " MiB"] = {
        {"microseconds", us}, {"bytes_per_second", 1e6 * bytes / us}, {"share_of_a_copy", us / copy_us}};
  }
  return found;
}

}  // namespace
}  // namespace first_light

int main(int argc, char** argv) {
  bool quick = false;
  CLI::App app("Speed of fingerprints of device memory");
  app.add_flag("--quick", quick, "little memory, a few rounds: a smoke test");
  CLI11_PARSE(app, argc, argv);
  return first_light::print_result([&] { return first_light::speed(quick); });
}
