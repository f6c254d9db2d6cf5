// Mappings that change while other threads and kernels work: do the calls wait, disturb the others, or return code 600?
#include "gpu.hpp"

#include <atomic>
#include <thread>

namespace first_light {
namespace {

// A kernel runs that touches none of our memory; meanwhile an unused page is swapped.
Answer remap_beside_kernel(const Settings& settings) {
  Gpu gpu;
  Stream stream;
  Event started, ended;
  Frame device(gpu, Place::kDevice, kPage), host(gpu, Place::kHost, kPage);
  Window window(gpu, kPage);
  window.mount(device);
  const std::uint64_t nanoseconds = settings.quick ? 50'000'000 : 450'000'000;
  MUST(cuEventRecord(started, stream));
  must(launch(gpu.plain("wait_for"), 1, 1, stream, nanoseconds), "wait_for");
  MUST(cuEventRecord(ended, stream));
  const Watch watch;
  must(window.unmap(0, kPage), "cuMemUnmap");
  const double unmapped = watch.seconds();
  must(window.map(host), "cuMemMap");
  CUresult opened = window.open(0, kPage);
  const double remapped = watch.seconds();
  const bool still_running = cuEventQuery(ended) == CUDA_ERROR_NOT_READY;
  stream.wait();
  return yes_if(still_running && opened == CUDA_SUCCESS, {{"unmap_us", 1e6 * unmapped},
                                                          {"remap_us", 1e6 * remapped},
                                                          {"kernel_still_ran", still_running},
                                                          {"set_access", outcome(opened)},
                                                          {"kernel_ms", ended.since(started)},
                                                          {"kernel_asked_ms", static_cast<double>(nanoseconds) / 1e6}});
}

// Queues its own kernels and copies until stopped.
class Neighbour {
 public:
  Neighbour(Gpu& gpu, CUfunction kernel, unsigned rounds)
      : thread_([this, &gpu, kernel, rounds] { work(gpu, kernel, rounds); }) {}
  ~Neighbour() { stop(); }
  void stop() {
    go_on_ = false;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t launches() const { return launches_; }
  int worst() const { return worst_; }

 private:
  void work(Gpu& gpu, CUfunction kernel, unsigned rounds) {
    try {
      gpu.enter();
      Stream stream;
      PlainBlock block(kPage);
      PinnedHost host(kPage);
      while (go_on_) {
        for (int i = 0; i < 16; ++i) {
          must(launch(kernel, 32, 128, stream, CUdeviceptr(block), std::uint64_t{kPage / 4}, rounds), "churn_words");
          ++launches_;
        }
        MUST(cuMemcpyDtoHAsync(host.as<void>(), block, kPage, stream));
        MUST(cuMemcpyHtoDAsync(block, host.as<void>(), kPage, stream));
        stream.wait();
      }
    } catch (const Failure& failure) {
      worst_ = failure.code;
    }
  }
  std::atomic<bool> go_on_{true};
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<int> worst_{0};
  std::thread thread_;
};

// Counts the result codes of each call while four threads keep the driver busy.
Answer remap_under_load(const Settings& settings) {
  Gpu gpu;
  const CUfunction churn = gpu.plain("churn_words");
  Frame device(gpu, Place::kDevice, kPage), host(gpu, Place::kHost, kPage);
  Window window(gpu, kPage);
  std::map<std::string, std::map<std::string, std::uint64_t>> codes;
  std::vector<double> times;
  std::uint64_t launches = 0;
  int neighbours_worst = 0;
  const Watch watch;
  {
    const unsigned rounds = settings.quick ? 1 : 64;
    Neighbour a(gpu, churn, rounds), b(gpu, churn, rounds), c(gpu, churn, rounds), d(gpu, churn, rounds);
    for (int i = 0; watch.seconds() < (settings.quick ? 0.2 : 6.0); ++i) {
      const Frame& frame = i % 2 == 0 ? device : host;
      const Watch remap;
      const CUresult mapped = window.map(frame);
      ++codes["cuMemMap"][name_of(mapped)];
      if (mapped != CUDA_SUCCESS) break;
      CUresult opened = window.open(0, kPage);
      ++codes["cuMemSetAccess"][name_of(opened)];
      for (int again = 0; opened == CUDA_ERROR_NOT_READY && again < 100; ++again) {
        opened = window.open(0, kPage);
        ++codes["cuMemSetAccess again"][name_of(opened)];
      }
      const CUresult unmapped = window.unmap(0, kPage);
      ++codes["cuMemUnmap"][name_of(unmapped)];
      times.push_back(1e6 * remap.seconds());
      if (unmapped != CUDA_SUCCESS || opened != CUDA_SUCCESS) break;
    }
    for (Neighbour* one : {&a, &b, &c, &d}) {
      one->stop();
      launches += one->launches();
      neighbours_worst = std::max(neighbours_worst, one->worst());
    }
  }
  const bool not_ready = codes["cuMemSetAccess"].count("CUDA_ERROR_NOT_READY") > 0;
  return yes_if(not_ready, {{"codes", codes},
                            {"remap_us", spread(times)},
                            {"kernels_beside", launches},
                            {"neighbours_worst_code", neighbours_worst}});
}

// Two threads swap different pages at once: do the calls delay each other?
Answer remap_in_two_threads(const Settings& settings) {
  Gpu gpu;
  const int rounds = settings.quick ? 10 : 2000;
  const auto exchange = [&gpu, rounds](std::atomic<int>& worst) {
    try {
      gpu.enter();
      Frame device(gpu, Place::kDevice, kPage), host(gpu, Place::kHost, kPage);
      Window window(gpu, kPage);
      for (int i = 0; i < rounds; ++i) {
        window.mount(i % 2 == 0 ? device : host);
        must(window.unmap(0, kPage), "cuMemUnmap");
      }
    } catch (const Failure& failure) {
      worst = failure.code;
    }
  };
  std::atomic<int> worst{0};
  const Watch alone;
  exchange(worst);
  const double one = alone.seconds();
  const Watch together;
  std::thread other([&] { exchange(worst); });
  exchange(worst);
  other.join();
  const double two = together.seconds();
  return {"measured",
          {{"one_thread_us_each", 1e6 * one / rounds},
           {"two_threads_us_each", 1e6 * two / rounds},
           {"worst_code", worst.load()}}};
}

}  // namespace

std::vector<Probe> race_probes() {
  return {{"remap_beside_kernel", "does a remap complete while an unrelated kernel runs", remap_beside_kernel},
          {"remap_under_load", "does set access answer 600 while other threads queue work", remap_under_load},
          {"remap_in_two_threads", "what do remaps of two threads cost each other", remap_in_two_threads}};
}

}  // namespace first_light
