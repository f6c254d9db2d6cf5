// How long each virtual memory management call takes on the calling thread, by size and place.
#include "gpu.hpp"

#include <memory>

namespace first_light {
namespace {

class Costs {
 public:
  template <class Call>
  auto time(const char* name, Call call) {
    const Watch watch;
    const CUresult result = call();
    times_[name].push_back(1e6 * watch.seconds());
    must(result, name);
  }
  Json json() const {
    Json all = Json::object();
    for (const auto& [name, times] : times_) all[name] = spread(times);
    return all;
  }

 private:
  std::map<std::string, std::vector<double>> times_;
};

Json vmm_costs(Gpu& gpu, Place place, std::size_t bytes, int rounds) {
  Costs costs;
  const CUmemAllocationProp wanted = properties(gpu, place);
  const Watch watch;
  for (int i = 0; i < rounds && watch.seconds() < 2.5; ++i) {
    CUdeviceptr at = 0;
    CUmemGenericAllocationHandle handle = 0;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = gpu.device();
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    costs.time("reserve", [&] { return cuMemAddressReserve(&at, bytes, 0, 0, 0); });
    costs.time("create", [&] { return cuMemCreate(&handle, bytes, &wanted, 0); });
    costs.time("map", [&] { return cuMemMap(at, bytes, 0, handle, 0); });
    costs.time("set_access", [&] { return cuMemSetAccess(at, bytes, &access, 1); });
    costs.time("unmap", [&] { return cuMemUnmap(at, bytes); });
    costs.time("map_again", [&] { return cuMemMap(at, bytes, 0, handle, 0); });
    costs.time("set_access_again", [&] { return cuMemSetAccess(at, bytes, &access, 1); });
    costs.time("unmap_again", [&] { return cuMemUnmap(at, bytes); });
    costs.time("release", [&] { return cuMemRelease(handle); });
    costs.time("free_range", [&] { return cuMemAddressFree(at, bytes); });
  }
  return costs.json();
}

template <Place place>
Answer vmm(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  for (const std::size_t mib : {std::size_t{2}, std::size_t{32}, std::size_t{512}}) {
    if (settings.quick && mib > 32) continue;
    const int rounds = settings.quick ? 2 : mib == 2 ? 300 : mib == 32 ? 60 : 8;
    answer.results[std::to_string(mib) + " MiB"] = vmm_costs(gpu, place, mib * kMiB, rounds);
  }
  return answer;
}

// Sixteen adjacent pages: one call over all of them, or one call each.
Answer calls_over_many(const Settings& settings) {
  Gpu gpu;
  constexpr std::size_t kPages = 16;
  Costs costs;
  std::vector<std::unique_ptr<Frame>> frames;
  for (std::size_t i = 0; i < kPages; ++i) {
    frames.push_back(std::make_unique<Frame>(gpu, Place::kDevice, kPage));
  }
  Window window(gpu, kPages * kPage);
  const auto map_all = [&] {
    for (std::size_t i = 0; i < kPages; ++i) must(window.map(*frames[i], i * kPage), "cuMemMap");
    return CUDA_SUCCESS;
  };
  for (int round = 0; round < (settings.quick ? 2 : 200); ++round) {
    costs.time("map 16 pages", map_all);
    costs.time("set_access at once", [&] { return window.open(0, kPages * kPage); });
    costs.time("unmap at once", [&] { return window.unmap(0, kPages * kPage); });
    must(map_all(), "cuMemMap");
    costs.time("set_access each", [&] {
      for (std::size_t i = 0; i < kPages; ++i) must(window.open(i * kPage, kPage), "cuMemSetAccess");
      return CUDA_SUCCESS;
    });
    costs.time("unmap each", [&] {
      for (std::size_t i = 0; i < kPages; ++i) must(window.unmap(i * kPage, kPage), "cuMemUnmap");
      return CUDA_SUCCESS;
    });
  }
  return {"measured", costs.json()};
}

// Does set access get slower with the number of existing mappings?
Answer set_access_among_many(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  const std::size_t most = settings.quick ? 16 : 4096;
  std::vector<std::unique_ptr<Frame>> frames;
  Window window(gpu, most * kPage);
  std::vector<double> times;
  for (std::size_t i = 0; i < most; ++i) {
    frames.push_back(std::make_unique<Frame>(gpu, Place::kDevice, kPage));
    must(window.map(*frames.back(), i * kPage), "cuMemMap");
    const Watch watch;
    must(window.open(i * kPage, kPage), "cuMemSetAccess");
    times.push_back(1e6 * watch.seconds());
    if ((i & (i + 1)) == 0 && i >= 15) {
      answer.results[std::to_string(i + 1) + " mappings"] =
          spread({times.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(i / 2 + 1, 256)), times.end()});
    }
  }
  const Watch watch;
  must(window.unmap(0, most * kPage), "cuMemUnmap");
  answer.results["unmap_all_at_once_us"] = 1e6 * watch.seconds();
  return answer;
}

Answer other_calls(const Settings& settings) {
  Gpu gpu;
  Costs costs;
  Stream stream, other;
  Event event;
  const CUfunction nothing = gpu.plain("nothing");
  CUdeviceptr at = 0;
  for (int i = 0; i < (settings.quick ? 5 : 2000); ++i) {
    costs.time("cuLaunchKernel",
               [&] { return cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr); });
    costs.time("cuEventRecord", [&] { return cuEventRecord(event, stream); });
    costs.time("cuStreamWaitEvent", [&] { return cuStreamWaitEvent(other, event, 0); });
    costs.time("cuStreamSynchronize", [&] { return cuStreamSynchronize(stream); });
    costs.time("cuEventQuery", [&] { return cuEventQuery(event); });
    costs.time("cuCtxSynchronize", [] { return cuCtxSynchronize(); });
    if (i % 10 != 0) continue;
    costs.time("cuMemAlloc 2 MiB", [&] { return cuMemAlloc(&at, kPage); });
    costs.time("cuMemFree 2 MiB", [&] { return cuMemFree(at); });
    costs.time("cuMemAllocAsync 2 MiB", [&] { return cuMemAllocAsync(&at, kPage, stream); });
    costs.time("cuMemFreeAsync 2 MiB", [&] { return cuMemFreeAsync(at, stream); });
  }
  return {"measured", costs.json()};
}

}  // namespace

std::vector<Probe> call_cost_probes() {
  return {{"cost_of_device_frames", "microseconds of each call, device frames", vmm<Place::kDevice>},
          {"cost_of_host_frames", "microseconds of each call, host frames", vmm<Place::kHost>},
          {"cost_of_calls_over_many", "one call over sixteen pages, or sixteen calls", calls_over_many},
          {"cost_among_many_mappings", "does set access slow down with more mappings", set_access_among_many},
          {"cost_of_other_calls", "microseconds of launches, events, waits, allocations", other_calls}};
}

}  // namespace first_light
