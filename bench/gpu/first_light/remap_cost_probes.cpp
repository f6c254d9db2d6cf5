// What a change of mappings costs while the copy engines and the compute units are busy, by size and number of pages.
//
// An eviction or a fetch changes a mapping while other copies are in flight. If the driver waits for them, or if it
// flushes caches once for each mapping, the number of mappings limits the moves, and not the link.
#include "gpu.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

namespace first_light {
namespace {

// Runs `work` in a thread; ends it when destroyed. Of a failing call the code remains.
class Loop {
 public:
  Loop(Gpu& gpu, std::function<void(const std::atomic<bool>& go_on)> work)
      : thread_([this, &gpu, work = std::move(work)] {
          try {
            gpu.enter();
            work(go_on_);
          } catch (const Failure& failure) {
            worst_ = failure.code;
          }
        }) {}
  ~Loop() { stop(); }
  void stop() {
    go_on_ = false;
    if (thread_.joinable()) thread_.join();
  }
  int worst() const { return worst_; }

 private:
  std::atomic<bool> go_on_{true};
  std::atomic<int> worst_{0};
  std::thread thread_;
};

enum class Way { kIn, kOut, kOutInPieces, kOutToFrame, kOutByKernel, kOutLowPriority };

// Copies of one kind, of which `ahead` are always queued.
struct Load {
  const char* name;
  std::vector<Way> ways;
  std::size_t bytes = kPage;
  std::size_t ahead = 4;
  std::size_t piece = 0;  // kOutInPieces
};

// Makes a stream wait for what it has queued by way of another stream, so that its channel is idle for a moment.
class Pause {
 public:
  void after_work_of(CUstream stream) {
    MUST(cuEventRecord(reached_, stream));
    MUST(cuStreamWaitEvent(other_, reached_, 0));
    MUST(cuEventRecord(back_, other_));
    MUST(cuStreamWaitEvent(stream, back_, 0));
  }

 private:
  Stream other_;
  Event reached_, back_;
};

CUstream stream_for(Way way) {
  CUstream stream = nullptr;
  int least = 0, greatest = 0;
  MUST(cuCtxGetStreamPriorityRange(&least, &greatest));
  MUST(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, way == Way::kOutLowPriority ? least : greatest));
  return stream;
}

void copy_until_stopped(Gpu& gpu, Way way, const Load& load, std::atomic<std::uint64_t>& copied,
                        const std::atomic<bool>& go_on) {
  const CUstream stream = stream_for(way);
  const CUfunction kernel = gpu.plain("copy_wide");
  {
    PlainBlock block(load.bytes);
    PinnedHost host(load.bytes);
    Frame frame(gpu, Place::kHost, load.bytes);
    Window window(gpu, load.bytes);
    window.mount(frame);
    Pause pause;
    std::deque<std::unique_ptr<Event>> queued;
    while (go_on) {
      switch (way) {
        case Way::kIn: MUST(cuMemcpyHtoDAsync(block, host.as<void>(), load.bytes, stream)); break;
        case Way::kOut:
        case Way::kOutLowPriority: MUST(cuMemcpyDtoHAsync(host.as<void>(), block, load.bytes, stream)); break;
        case Way::kOutInPieces:
          for (std::size_t at = 0; at < load.bytes; at += load.piece) {
            MUST(cuMemcpyDtoHAsync(host.as<char>() + at, block + at, load.piece, stream));
            pause.after_work_of(stream);
          }
          break;
        case Way::kOutToFrame: MUST(cuMemcpyDtoDAsync(window.at(), block, load.bytes, stream)); break;
        case Way::kOutByKernel:
          must(launch(kernel, 16, 512, stream, host.as<void>(), CUdeviceptr(block), std::uint64_t{load.bytes / 16}),
               "copy_wide");
          break;
      }
      queued.push_back(std::make_unique<Event>());
      MUST(cuEventRecord(*queued.back(), stream));
      if (queued.size() < load.ahead) continue;
      MUST(cuEventSynchronize(*queued.front()));
      queued.pop_front();
      copied += load.bytes;
    }
    MUST(cuStreamSynchronize(stream));
  }
  MUST(cuStreamDestroy(stream));
}

class CopyLoad {
 public:
  CopyLoad(Gpu& gpu, const Load& load) {
    for (const Way way : load.ways) {
      loops_.push_back(std::make_unique<Loop>(gpu, [this, &gpu, &load, way](const std::atomic<bool>& go_on) {
        copy_until_stopped(gpu, way, load, copied_, go_on);
      }));
    }
    for (const Watch watch; !loops_.empty() && copied_ < 8 * load.bytes && watch.seconds() < 0.5;) {
      std::this_thread::yield();
    }
  }
  std::uint64_t copied() const { return copied_; }
  int worst() const {
    int worst = 0;
    for (const auto& loop : loops_) worst = std::max(worst, loop->worst());
    return worst;
  }

 private:
  std::atomic<std::uint64_t> copied_{0};
  std::vector<std::unique_ptr<Loop>> loops_;
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

Json costs_by_size(const Gpu& gpu, const Settings& settings, std::initializer_list<std::size_t> sizes) {
  const int rounds = settings.quick ? 2 : 200;
  Json all = Json::object();
  for (const std::size_t mib : sizes) {
    all[std::to_string(mib) + " MiB"] = PagesInARow(gpu, 1, mib * kMiB).costs(rounds, 0.15);
  }
  return all;
}

// `together`: numbers of pages of 2 MiB that one call covers.
Json costs_beside(Gpu& gpu, const Load& load, const Settings& settings, std::initializer_list<std::size_t> sizes,
                  std::initializer_list<std::size_t> together) {
  const Watch watch;
  CopyLoad copies(gpu, load);
  Json found = costs_by_size(gpu, settings, sizes);
  for (const std::size_t count : together) {
    found[std::to_string(count) + " x 2 MiB at once"] =
        PagesInARow(gpu, count, kPage).costs(settings.quick ? 2 : 200, 0.15);
  }
  found["copied_bytes_per_second"] = static_cast<double>(copies.copied()) / watch.seconds();
  found["worst_code"] = copies.worst();
  return found;
}

Answer remap_beside_copies(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  const std::vector<Load> loads = {{"nothing", {}},
                                   {"copies in", {Way::kIn}},
                                   {"copies out", {Way::kOut}},
                                   {"copies both ways", {Way::kIn, Way::kOut}},
                                   {"copies both ways of 32 MiB", {Way::kIn, Way::kOut}, 16 * kPage}};
  for (const Load& load : loads) {
    Json& found = answer.results[std::string("beside ") + load.name];
    found = costs_beside(gpu, load, settings, {2, 4, 8, 16, 32, 64}, {4, 16});
  }
  return answer;
}

// Which copies to the host make set access slow.
Answer remap_beside_copies_out(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  const std::vector<Load> loads = {
      {"one of 2 MiB at a time", {Way::kOut}, kPage, 1},
      {"one of 8 MiB at a time", {Way::kOut}, 4 * kPage, 1},
      {"one of 32 MiB at a time", {Way::kOut}, 16 * kPage, 1},
      {"two of 2 MiB", {Way::kOut}, kPage, 2},
      {"pieces of 512 KiB with pauses", {Way::kOutInPieces}, 16 * kPage, 2, kMiB / 2},
      {"pieces of 1 MiB with pauses", {Way::kOutInPieces}, 16 * kPage, 2, kMiB},
      {"pieces of 2 MiB with pauses", {Way::kOutInPieces}, 16 * kPage, 2, 2 * kMiB},
      {"pieces of 4 MiB with pauses", {Way::kOutInPieces}, 16 * kPage, 2, 4 * kMiB},
      {"pieces of 8 MiB with pauses", {Way::kOutInPieces}, 16 * kPage, 2, 8 * kMiB},
      {"pieces of 2 MiB with pauses, and copies in", {Way::kOutInPieces, Way::kIn}, 16 * kPage, 2, 2 * kMiB},
      {"low priority", {Way::kOutLowPriority}},
      {"to a host frame", {Way::kOutToFrame}},
      {"to a host frame, one of 8 MiB at a time", {Way::kOutToFrame}, 4 * kPage, 1},
      {"by a kernel", {Way::kOutByKernel}, 4 * kPage},
      {"by a kernel, and copies in", {Way::kOutByKernel, Way::kIn}, 4 * kPage}};
  for (const Load& load : loads) {
    answer.results[load.name] = costs_beside(gpu, load, settings, {2, 32}, {});
  }
  return answer;
}

// Queues a kernel that runs for so long on the stream.
void keep_busy(Gpu& gpu, CUstream stream, std::uint64_t milliseconds) {
  must(launch(gpu.plain("wait_for"), 1, 1, stream, milliseconds * 1'000'000), "wait_for");
}

// Beside work that has been queued on the stream. The pages are created before, since it is not known which of the
// calls that create and release them wait for a kernel.
Json costs_beside_work(Gpu& gpu, Stream& stream, const Settings& settings, const std::function<void()>& queue) {
  Json found = Json::object();
  std::map<std::string, std::unique_ptr<PagesInARow>> pages;
  for (const std::size_t mib : {2, 4, 8, 16, 32, 64}) {
    pages[std::to_string(mib) + " MiB"] = std::make_unique<PagesInARow>(gpu, 1, mib * kMiB);
  }
  queue();
  for (const auto& [name, page] : pages) found[name] = page->costs(settings.quick ? 2 : 200, 0.15);
  found["kernel_still_ran"] = cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
  stream.wait();
  return found;
}

// Copies out that wait for a kernel are queued, but move nothing.
Answer remap_beside_waiting_copies(const Settings& settings) {
  Gpu gpu;
  Stream stream;
  PlainBlock block(kPage);
  PinnedHost host(kPage);
  return {"measured", costs_beside_work(gpu, stream, settings, [&] {
            keep_busy(gpu, stream, settings.quick ? 20 : 400);
            for (int i = 0; i < 8; ++i) MUST(cuMemcpyDtoHAsync(host.as<void>(), block, kPage, stream));
          })};
}

Answer remap_beside_long_kernel(const Settings& settings) {
  Gpu gpu;
  Stream stream;
  return {"measured",
          costs_beside_work(gpu, stream, settings, [&] { keep_busy(gpu, stream, settings.quick ? 20 : 400); })};
}

// Each call about memory once, beside a kernel of its own: does it return before the kernel is over?
Answer calls_that_wait_for_kernels(const Settings& settings) {
  Gpu gpu;
  Stream stream;
  CUdeviceptr at = 0, block = 0;
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp wanted = properties(gpu, Place::kDevice);
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {gpu.device()}};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  Answer answer;
  const auto beside_kernel = [&](const char* name, auto call) {
    keep_busy(gpu, stream, settings.quick ? 5 : 50);
    const Watch watch;
    must(call(), name);
    const double seconds = watch.seconds();
    answer.results[name] = {{"us", 1e6 * seconds}, {"kernel_still_ran", cuStreamQuery(stream) == CUDA_ERROR_NOT_READY}};
    stream.wait();
  };
  beside_kernel("cuMemAddressReserve", [&] { return cuMemAddressReserve(&at, kPage, 0, 0, 0); });
  beside_kernel("cuMemCreate", [&] { return cuMemCreate(&handle, kPage, &wanted, 0); });
  beside_kernel("cuMemMap", [&] { return cuMemMap(at, kPage, 0, handle, 0); });
  beside_kernel("cuMemSetAccess", [&] { return cuMemSetAccess(at, kPage, &access, 1); });
  beside_kernel("cuMemUnmap", [&] { return cuMemUnmap(at, kPage); });
  beside_kernel("cuMemRelease", [&] { return cuMemRelease(handle); });
  beside_kernel("cuMemAddressFree", [&] { return cuMemAddressFree(at, kPage); });
  beside_kernel("cuMemAlloc", [&] { return cuMemAlloc(&block, kPage); });
  beside_kernel("cuMemFree", [&] { return cuMemFree(block); });
  return answer;
}

// Maps and unmaps one page until it is stopped.
void remap_until_stopped(Gpu& gpu, const Frame& frame, const std::atomic<bool>& go_on) {
  Window window(gpu, frame.bytes());
  while (go_on) {
    window.mount(frame);
    must(window.unmap(0, frame.bytes()), "cuMemUnmap");
  }
}

// Microseconds of calls of one thread while another changes mappings.
Answer calls_beside_remaps(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  const CUfunction nothing = gpu.plain("nothing");
  const std::vector<Load> loads = {{"alone", {}}, {"beside copies out", {Way::kOut}}};
  for (const Load& load : loads) {
    for (const bool remaps : {false, true}) {
      CopyLoad copies(gpu, load);
      Frame frame(gpu, Place::kDevice, kPage);
      Loop loop(gpu, [&gpu, &frame, remaps](const std::atomic<bool>& go_on) {
        if (remaps) remap_until_stopped(gpu, frame, go_on);
      });
      Stream stream;
      Event event;
      PlainBlock block(kPage);
      PinnedHost host(kPage);
      std::map<std::string, std::vector<double>> times;
      const auto time = [&times](const char* name, auto call) {
        const Watch watch;
        must(call(), name);
        times[name].push_back(1e6 * watch.seconds());
      };
      for (int i = 0; i < (settings.quick ? 5 : 2000); ++i) {
        time("cuLaunchKernel", [&] { return cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr); });
        time("cuEventRecord", [&] { return cuEventRecord(event, stream); });
        time("cuEventQuery", [&] {
          const CUresult found = cuEventQuery(event);
          return found == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : found;
        });
        time("cuMemcpyHtoDAsync", [&] { return cuMemcpyHtoDAsync(block, host.as<void>(), 4096, stream); });
        if (i % 16 == 15) stream.wait();
      }
      Json& found = answer.results[std::string(load.name) + (remaps ? ", mappings change" : "")];
      for (const auto& [name, each] : times) found[name] = spread(each);
      loop.stop();
      found["worst_code"] = std::max(loop.worst(), copies.worst());
    }
  }
  return answer;
}

void launch_until_stopped(Gpu& gpu, const std::atomic<bool>& go_on) {
  const CUfunction nothing = gpu.plain("nothing");
  Stream stream;
  for (int i = 1; go_on; ++i) {
    must(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "nothing");
    if (i % 64 == 0) stream.wait();
  }
  stream.wait();
}

// Mappings of one thread while others change mappings, and launch kernels.
Answer remaps_of_several_threads(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  for (const bool launches : {false, true}) {
    for (const std::size_t others : {0, 1, 3}) {
      std::vector<std::unique_ptr<Frame>> frames;
      std::vector<std::unique_ptr<Loop>> loops;
      for (std::size_t i = 0; i < others; ++i) {
        const Frame& frame = *frames.emplace_back(std::make_unique<Frame>(gpu, Place::kDevice, 4 * kPage));
        loops.push_back(std::make_unique<Loop>(
            gpu, [&gpu, &frame](const std::atomic<bool>& go_on) { remap_until_stopped(gpu, frame, go_on); }));
      }
      if (launches) {
        loops.push_back(
            std::make_unique<Loop>(gpu, [&gpu](const std::atomic<bool>& go_on) { launch_until_stopped(gpu, go_on); }));
      }
      Json& found = answer.results[std::to_string(others) + " others" + (launches ? ", one launches" : "")];
      found = PagesInARow(gpu, 1, 4 * kPage).costs(settings.quick ? 2 : 2000, 0.3);
      int worst = 0;
      for (const auto& loop : loops) {
        loop->stop();
        worst = std::max(worst, loop->worst());
      }
      found["worst_code"] = worst;
    }
  }
  return answer;
}

}  // namespace

std::vector<Probe> remap_cost_probes() {
  return {{"remap_beside_copies", "what set access and unmap cost while copies are in flight", remap_beside_copies},
          {"remap_beside_copies_out", "which copies to the host make set access slow", remap_beside_copies_out},
          {"remap_beside_waiting_copies", "do copies do so that wait for a kernel", remap_beside_waiting_copies},
          {"remap_beside_long_kernel", "what they cost while a kernel runs", remap_beside_long_kernel},
          {"calls_that_wait_for_kernels", "which calls about memory wait for a kernel", calls_that_wait_for_kernels},
          {"calls_beside_remaps", "do changes of mappings delay launches", calls_beside_remaps},
          {"remaps_of_several_threads", "what set access and unmap cost while other threads map and launch",
           remaps_of_several_threads}};
}

}  // namespace first_light
