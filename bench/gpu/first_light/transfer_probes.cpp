// Driver copies and memsets on cold blocks: are they correct, and do they block the host?
#include "gpu.hpp"

#include <cstring>

namespace first_light {
namespace {

// One block in the memory under test, one on the device, one pinned and one pageable.
struct Ends {
  Ends(Gpu& gpu, Place place)
      : frame(gpu, place, kPage), window(gpu, kPage), device(kPage), pinned(kPage), pageable(kPage / 4) {
    window.mount(frame);
  }
  Frame frame;
  Window window;
  PlainBlock device;
  PinnedHost pinned;
  std::vector<std::uint32_t> pageable;
};

struct Transfer {
  const char* name;
  CUresult (*call)(Ends& ends, CUstream stream);
};

// Calls with a stream are queued on it; the others use the legacy default stream.
const Transfer kTransfers[] = {
    {"cuMemcpyHtoDAsync from pinned",
     [](Ends& ends, CUstream stream) {
       return cuMemcpyHtoDAsync(ends.window.at(), ends.pinned.as<void>(), kPage, stream);
     }},
    {"cuMemcpyHtoDAsync from pageable",
     [](Ends& ends, CUstream stream) {
       return cuMemcpyHtoDAsync(ends.window.at(), ends.pageable.data(), kPage, stream);
     }},
    {"cuMemcpyDtoHAsync to pinned",
     [](Ends& ends, CUstream stream) {
       return cuMemcpyDtoHAsync(ends.pinned.as<void>(), ends.window.at(), kPage, stream);
     }},
    {"cuMemcpyDtoDAsync from device",
     [](Ends& ends, CUstream stream) { return cuMemcpyDtoDAsync(ends.window.at(), ends.device, kPage, stream); }},
    {"cuMemcpyDtoDAsync to device",
     [](Ends& ends, CUstream stream) { return cuMemcpyDtoDAsync(ends.device, ends.window.at(), kPage, stream); }},
    {"cuMemcpyAsync from device",
     [](Ends& ends, CUstream stream) { return cuMemcpyAsync(ends.window.at(), ends.device, kPage, stream); }},
    {"cuMemsetD8Async",
     [](Ends& ends, CUstream stream) { return cuMemsetD8Async(ends.window.at(), 7, kPage, stream); }},
    {"cuMemsetD32Async",
     [](Ends& ends, CUstream stream) { return cuMemsetD32Async(ends.window.at(), 7, kPage / 4, stream); }}};

// Queued behind a kernel that runs for a while: a call that does not wait returns before the kernel ends. Copies of
// pageable memory wait on every driver, so they show nothing about the place.
Answer transfers_block(Place place, const Settings& settings) {
  Gpu gpu;
  Ends ends(gpu, place);
  Stream stream;
  const CUfunction wait = gpu.plain("wait_for");
  const std::uint64_t nanoseconds = settings.quick ? 5'000'000 : 50'000'000;
  Json results = Json::object();
  bool any = false;
  for (const Transfer& transfer : kTransfers) {
    Event ended;
    must(launch(wait, 1, 1, stream, nanoseconds), "wait_for");
    MUST(cuEventRecord(ended, stream));
    const Watch watch;
    const CUresult result = transfer.call(ends, stream);
    const double took = watch.seconds();
    const bool waited = took > static_cast<double>(nanoseconds) / 4e9 && cuEventQuery(ended) == CUDA_SUCCESS;
    stream.wait();
    const bool pageable = std::string(transfer.name).find("pageable") != std::string::npos;
    any = any || (waited && result == CUDA_SUCCESS && !pageable);
    results[transfer.name] = {
        {"code", static_cast<int>(result)}, {"waited_for_the_kernel", waited}, {"call_us", 1e6 * took}};
  }
  return yes_if(any, results);
}

Answer host_transfers_block(const Settings& settings) { return transfers_block(Place::kHost, settings); }
Answer device_transfers_block(const Settings& settings) { return transfers_block(Place::kDevice, settings); }

// Contents after each transfer, checked by a kernel, or by the CPU if the bytes were copied to it.
Answer transfers_right(const Settings&) {
  Gpu gpu;
  Words words(gpu);
  Ends ends(gpu, Place::kHost);
  Stream stream;
  Json results = Json::object();
  bool all = true;
  // A copy between device addresses need not be done when its call returns.
  const auto right_is = [&](CUdeviceptr at, std::uint64_t sum) {
    MUST(cuCtxSynchronize());
    return words.sum(at, kPage, stream) == sum;
  };
  const auto same = [&](CUdeviceptr a, CUdeviceptr b) {
    MUST(cuCtxSynchronize());
    return words.sum(a, kPage, stream) == words.sum(b, kPage, stream);
  };
  const auto note = [&](const char* name, CUresult result, bool right) {
    results[name] = {{"code", static_cast<int>(result)}, {"right", right}};
    all = all && right;
  };
  const std::uint64_t five = Words::expected(kPage, 5), six = Words::expected(kPage, 6);

  words.fill(ends.device, kPage, 5, stream);
  stream.wait();
  CUresult result = cuMemcpyDtoD(ends.window.at(), ends.device, kPage);
  finish_default_stream();
  note("cuMemcpyDtoD to host frame", result, right_is(ends.window.at(), five));

  words.fill(ends.window.at(), kPage, 6, stream);
  stream.wait();
  result = cuMemcpyDtoD(ends.device, ends.window.at(), kPage);
  finish_default_stream();
  note("cuMemcpyDtoD from host frame", result, right_is(ends.device, six));

  result = cuMemcpyDtoH(ends.pageable.data(), ends.window.at(), kPage);
  note("cuMemcpyDtoH from host frame", result, ends.pageable[1] == (1U ^ 6U) * 2654435761U);

  std::memset(ends.pinned.as<void>(), 0x11, kPage);
  result = cuMemcpyHtoD(ends.window.at(), ends.pinned.as<void>(), kPage);
  MUST(cuMemsetD8(ends.device, 0x11, kPage));
  finish_default_stream();
  note("cuMemcpyHtoD to host frame", result, same(ends.window.at(), ends.device));

  result = cuMemsetD8(ends.window.at(), 0x22, kPage);
  MUST(cuMemsetD8(ends.device, 0x22, kPage));
  finish_default_stream();
  note("cuMemsetD8 on host frame", result, same(ends.window.at(), ends.device));

  result = cuMemsetD32(ends.window.at(), 77, kPage / 4);
  MUST(cuMemsetD32(ends.device, 77, kPage / 4));
  finish_default_stream();
  note("cuMemsetD32 on host frame", result, same(ends.window.at(), ends.device));
  return yes_if(all, results);
}

// One copy whose target is half on the device and half on the host, as after a partial eviction.
Answer transfer_over_mixed_run(const Settings&) {
  Gpu gpu;
  Words words(gpu);
  Stream stream;
  Frame device(gpu, Place::kDevice, kPage), host(gpu, Place::kHost, kPage);
  Window window(gpu, 2 * kPage);
  window.mount(device);
  window.mount(host, kPage);
  PlainBlock source(2 * kPage);
  words.fill(source, 2 * kPage, 8, stream);
  const CUresult result = cuMemcpyDtoDAsync(window.at(), source, 2 * kPage, stream);
  const bool right = words.sum(window.at(), 2 * kPage, stream) == Words::expected(2 * kPage, 8);
  return yes_if(right, outcome(result));
}

}  // namespace

std::vector<Probe> transfer_probes() {
  return {{"transfers_right", "are copies and sets of host frames right", transfers_right},
          {"transfers_block_on_host", "does a queued copy or set of a host frame block the host", host_transfers_block},
          {"transfers_block_on_device", "does one of a device frame", device_transfers_block},
          {"transfer_over_mixed_run", "does one copy write device and host frames", transfer_over_mixed_run}};
}

}  // namespace first_light
