// The steps of an eviction as Tessera performs them, and what they cost while a program is running.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "gpu.hpp"

namespace first_light {
namespace {

// Our own pages, registered with the driver, as Tessera's host memory is.
class RegisteredPages {
 public:
  explicit RegisteredPages(std::size_t bytes) : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory_ == MAP_FAILED) throw NotHere{"no host memory"};
    const CUresult registered = cuMemHostRegister(memory_, bytes, 0);
    if (registered != CUDA_SUCCESS) (void)::munmap(memory_, bytes_);
    must(registered, "cuMemHostRegister");
  }
  ~RegisteredPages() {
    (void)cuMemHostUnregister(memory_);
    (void)::munmap(memory_, bytes_);
  }
  RegisteredPages(const RegisteredPages&) = delete;
  RegisteredPages& operator=(const RegisteredPages&) = delete;
  void* at() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_;
};

struct StepTimes {
  std::vector<double> out, unmap, map, access, in;
  Json json() const {
    return {{"copy_out_us", spread(out)},
            {"unmap_us", spread(unmap)},
            {"map_us", spread(map)},
            {"set_access_us", spread(access)},
            {"copy_in_us", spread(in)}};
  }
};

template <class Step>
void timed(std::vector<double>& times, Step step) {
  const Watch watch;
  step();
  times.push_back(1e6 * watch.seconds());
}

// A page is evicted to registered memory, its frame is overwritten at another address, and another frame is mapped at
// its address.
Answer swap_by_registered_memory(const Settings& settings) {
  Gpu gpu;
  Words words(gpu);
  Stream stream, busy;
  Frame frames[] = {Frame(gpu, Place::kDevice, kPage), Frame(gpu, Place::kDevice, kPage)};
  Window home(gpu, kPage), elsewhere(gpu, kPage);
  RegisteredPages host(kPage);
  PlainBlock bystander(kPage);
  const CUfunction churn = gpu.plain("churn_words");
  home.mount(frames[0]);
  StepTimes times;
  int done = 0, wrong = 0;
  const Watch watch;
  for (; done < (settings.quick ? 3 : 5000) && watch.seconds() < 5; ++done) {
    const Frame& before = frames[done % 2];
    const Frame& after = frames[(done + 1) % 2];
    const auto seed = static_cast<std::uint32_t>(done);
    must(launch(churn, 8, 128, busy, CUdeviceptr(bystander), std::uint64_t{kPage / 4}, 16U), "churn_words");
    words.fill(home.at(), kPage, seed, stream);
    timed(times.out, [&] {
      MUST(cuMemcpyDtoHAsync(host.at(), home.at(), kPage, stream));
      stream.wait();
    });
    timed(times.unmap, [&] { must(home.unmap(0, kPage), "cuMemUnmap"); });
    elsewhere.mount(before);
    words.fill(elsewhere.at(), kPage, ~seed, stream);
    stream.wait();
    must(elsewhere.unmap(0, kPage), "cuMemUnmap");
    timed(times.map, [&] { must(home.map(after), "cuMemMap"); });
    timed(times.access, [&] { must(home.open(0, kPage), "cuMemSetAccess"); });
    timed(times.in, [&] {
      MUST(cuMemcpyHtoDAsync(home.at(), host.at(), kPage, stream));
      stream.wait();
    });
    wrong += words.sum(home.at(), kPage, stream) != Words::expected(kPage, seed);
  }
  busy.wait();
  Json results = {{"round_trips", done}, {"wrong", wrong}};
  results.update(times.json());
  return yes_if(done > 0 && wrong == 0, results);
}

// The cost of unmapping one page, with few and with many mappings in the process, idle and while a kernel runs.
Answer unmap_among_many(const Settings& settings) {
  Gpu gpu;
  std::size_t free_bytes = 0, total = 0;
  MUST(cuMemGetInfo(&free_bytes, &total));
  const std::size_t most = settings.quick ? 32 : std::min<std::size_t>(2000, free_bytes / 2 / kPage);
  const std::uint64_t held_ns = settings.quick ? 20'000'000 : 300'000'000;
  Stream stream;
  Window window(gpu, most * kPage);
  std::vector<std::unique_ptr<Frame>> frames;
  Json results = Json::object();
  const auto measure = [&](const char* beside) {
    std::vector<double> unmapped, mapped;
    const std::size_t count = frames.size();
    for (std::size_t i = 0; i < std::min<std::size_t>(count, 64); ++i) {
      const std::size_t which = i * 37 % count;
      timed(unmapped, [&] { must(window.unmap(which * kPage, kPage), "cuMemUnmap"); });
      timed(mapped, [&] { window.mount(*frames[which], which * kPage); });
    }
    results[std::to_string(count) + " mappings, " + beside] = {{"unmap_us", spread(unmapped)},
                                                               {"map_and_access_us", spread(mapped)}};
  };
  for (std::size_t i = 0; i < most; ++i) {
    frames.push_back(std::make_unique<Frame>(gpu, Place::kDevice, kPage));
    window.mount(*frames.back(), i * kPage);
    if (i + 1 != 16 && i + 1 != most) continue;
    measure("idle");
    must(launch(gpu.plain("wait_for"), 1, 1, stream, held_ns), "wait_for");
    measure("beside a kernel");
    stream.wait();
  }
  const std::size_t together = std::min<std::size_t>(64, most);
  const Watch watch;
  must(window.unmap(0, together * kPage), "cuMemUnmap");
  results["unmap_of_" + std::to_string(together) + "_neighbours_us"] = 1e6 * watch.seconds();
  return {"measured", results};
}

// Launches kernels as fast as possible until stopped: the longest call shows a stall.
class Launcher {
 public:
  explicit Launcher(Gpu& gpu) : thread_([this, &gpu] { work(gpu); }) {}
  ~Launcher() {
    go_on_ = false;
    if (thread_.joinable()) thread_.join();
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  // Microseconds of the longest launch since the previous call.
  double longest() { return longest_.exchange(0); }
  int worst() const { return worst_; }

 private:
  void work(Gpu& gpu) {
    try {
      gpu.enter();
      Stream stream;
      const CUfunction nothing = gpu.plain("nothing");
      while (go_on_) {
        const Watch watch;
        MUST(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
        const double took = 1e6 * watch.seconds();
        if (took > longest_) longest_ = took;
        stream.wait();
      }
    } catch (const Failure& failure) {
      worst_ = failure.code;
    }
  }
  std::atomic<bool> go_on_{true};
  std::atomic<double> longest_{0};
  std::atomic<int> worst_{0};
  std::thread thread_;
};

Answer stalls_while_pinning(const Settings& settings) {
  Gpu gpu;
  constexpr std::size_t kBytes = 64 * kMiB;
  (void)gpu.plain("nothing");
  Launcher launcher(gpu);
  std::vector<double> quiet, registering, unregistering, allocating, made, given_back, allocated;
  for (int turn = 0; turn < (settings.quick ? 2 : 10); ++turn) {
    (void)launcher.longest();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    quiet.push_back(launcher.longest());
    {
      std::unique_ptr<RegisteredPages> pages;
      timed(made, [&] { pages = std::make_unique<RegisteredPages>(kBytes); });
      registering.push_back(launcher.longest());
      timed(given_back, [&] { pages.reset(); });
      unregistering.push_back(launcher.longest());
    }
    timed(allocated, [&] { const PinnedHost host(kBytes); });
    allocating.push_back(launcher.longest());
  }
  const Json results = {{"longest_launch_us",
                         {{"quiet", spread(quiet)},
                          {"while registering", spread(registering)},
                          {"while unregistering", spread(unregistering)},
                          {"while cuMemAllocHost", spread(allocating)}}},
                        {"map_and_register_us", spread(made)},
                        {"unregister_us", spread(given_back)},
                        {"cuMemAllocHost_and_free_us", spread(allocated)},
                        {"launcher_worst_code", launcher.worst()}};
  const double before = spread(quiet)["median"], during = spread(registering)["median"];
  return yes_if(during > before + 1000, results);
}

}  // namespace

std::vector<Probe> eviction_probes() {
  return {{"unmap_among_many", "what does an unmap cost among 2,000 mappings", unmap_among_many},
          {"stalls_while_pinning", "do launches stall while 64 MiB are pinned", stalls_while_pinning},
          {"swap_by_registered_memory", "does a page keep its bytes by registered memory, into another frame",
           swap_by_registered_memory}};
}

}  // namespace first_light
