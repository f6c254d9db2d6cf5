// What a change of mappings costs while the copy engines and the compute units are busy, by size and number of pages.
//
// An eviction or a fetch changes a mapping while other copies are in flight. If the driver waits for them, or if it
// flushes caches once for each mapping, the number of mappings limits the moves, and not the link.
#include "gpu.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <thread>

namespace first_light {
namespace {

// Copies between device and pinned host memory, a few always queued in each chosen direction, until destroyed.
class CopyLoad {
 public:
  CopyLoad(Gpu& gpu, std::size_t bytes, bool in, bool out) {
    if (in) threads_.emplace_back([this, &gpu, bytes] { work(gpu, bytes, true); });
    if (out) threads_.emplace_back([this, &gpu, bytes] { work(gpu, bytes, false); });
    while (started_ < threads_.size()) std::this_thread::yield();
  }
  ~CopyLoad() {
    go_on_ = false;
    for (std::thread& thread : threads_) thread.join();
  }
  std::uint64_t copied() const { return copied_; }
  int worst() const { return worst_; }

 private:
  static constexpr std::size_t kAhead = 4;

  void work(Gpu& gpu, std::size_t bytes, bool in) {
    try {
      gpu.enter();
      Stream stream;
      PlainBlock block(bytes);
      PinnedHost host(bytes);
      std::deque<std::unique_ptr<Event>> queued;
      ++started_;
      while (go_on_) {
        if (in) MUST(cuMemcpyHtoDAsync(block, host.as<void>(), bytes, stream));
        if (!in) MUST(cuMemcpyDtoHAsync(host.as<void>(), block, bytes, stream));
        queued.push_back(std::make_unique<Event>());
        MUST(cuEventRecord(*queued.back(), stream));
        if (queued.size() < kAhead) continue;
        MUST(cuEventSynchronize(*queued.front()));
        queued.pop_front();
        copied_ += bytes;
      }
      stream.wait();
    } catch (const Failure& failure) {
      worst_ = failure.code;
      ++started_;
    }
  }

  std::atomic<bool> go_on_{true};
  std::atomic<std::size_t> started_{0};
  std::atomic<std::uint64_t> copied_{0};
  std::atomic<int> worst_{0};
  std::vector<std::thread> threads_;
};

// Pages that are mapped and unmapped again, side by side.
class PagesInARow {
 public:
  PagesInARow(const Gpu& gpu, std::size_t count, std::size_t bytes) : bytes_(bytes), window_(gpu, count * bytes) {
    for (std::size_t i = 0; i < count; ++i) frames_.push_back(std::make_unique<Frame>(gpu, Place::kDevice, bytes));
  }

  // Microseconds of one set access and one unmap over all of them, for each page.
  Json costs(int rounds, double seconds) {
    std::vector<double> access, unmap;
    const double pages = static_cast<double>(frames_.size());
    const Watch all;
    for (int round = 0; round < rounds && all.seconds() < seconds; ++round) {
      for (std::size_t i = 0; i < frames_.size(); ++i) must(window_.map(*frames_[i], i * bytes_), "cuMemMap");
      const Watch opened;
      must(window_.open(0, window_.bytes()), "cuMemSetAccess");
      access.push_back(1e6 * opened.seconds() / pages);
      const Watch closed;
      must(window_.unmap(0, window_.bytes()), "cuMemUnmap");
      unmap.push_back(1e6 * closed.seconds() / pages);
    }
    return {{"set_access_us", spread(access)}, {"unmap_us", spread(unmap)}};
  }

 private:
  std::size_t bytes_;
  std::vector<std::unique_ptr<Frame>> frames_;
  Window window_;
};

Json costs_by_size(const Gpu& gpu, const Settings& settings) {
  const int rounds = settings.quick ? 2 : 200;
  Json all = Json::object();
  for (const std::size_t mib : {2, 4, 8, 16, 32, 64}) {
    all[std::to_string(mib) + " MiB"] = PagesInARow(gpu, 1, mib * kMiB).costs(rounds, 0.2);
  }
  for (const std::size_t count : {4, 16}) {
    all[std::to_string(count) + " x 2 MiB at once"] = PagesInARow(gpu, count, kPage).costs(rounds, 0.2);
  }
  return all;
}

Answer remap_beside_copies(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  struct Load {
    const char* name;
    std::size_t bytes;
    bool in, out;
  };
  for (const Load& load :
       {Load{"nothing", 0, false, false}, Load{"2 MiB copies in", kPage, true, false},
        Load{"2 MiB copies out", kPage, false, true}, Load{"2 MiB copies both ways", kPage, true, true},
        Load{"32 MiB copies both ways", 16 * kPage, true, true}}) {
    const Watch watch;
    CopyLoad copies(gpu, load.bytes, load.in, load.out);
    Json& found = answer.results[std::string("beside ") + load.name];
    found = costs_by_size(gpu, settings);
    found["copied_bytes_per_second"] = static_cast<double>(copies.copied()) / watch.seconds();
    found["worst_code"] = copies.worst();
  }
  return answer;
}

Answer remap_beside_long_kernel(const Settings& settings) {
  Gpu gpu;
  Stream stream;
  const std::uint64_t nanoseconds = settings.quick ? 20'000'000 : 1'600'000'000;
  must(launch(gpu.plain("wait_for"), 1, 1, stream, nanoseconds), "wait_for");
  Answer answer;
  answer.results = costs_by_size(gpu, settings);
  answer.results["kernel_still_ran"] = cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
  stream.wait();
  return answer;
}

}  // namespace

std::vector<Probe> remap_cost_probes() {
  return {{"remap_beside_copies", "what set access and unmap cost while copies are in flight", remap_beside_copies},
          {"remap_beside_long_kernel", "what they cost while a kernel runs", remap_beside_long_kernel}};
}

}  // namespace first_light
