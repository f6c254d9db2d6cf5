// Streams: how much can be queued before a call blocks, and which kinds of streams accept a fence.
#include <algorithm>
#include <functional>

#include "gpu.hpp"

namespace first_light {
namespace {

// ---- depth ----

using Queue = std::function<CUresult(CUstream stream)>;

// Queues work behind a waiting kernel until a call blocks or the kernel has ended.
Json depth(Gpu& gpu, std::uint64_t held_ns, int most, const Queue& queue) {
  constexpr double kBlocked = 0.01;  // seconds
  Stream stream;
  Event ended;
  must(launch(gpu.plain("wait_for"), 1, 1, stream, held_ns), "wait_for");
  MUST(cuEventRecord(ended, stream));
  int queued = 0;
  double longest = 0;
  bool blocked = false;
  for (; queued < most && !blocked && cuEventQuery(ended) == CUDA_ERROR_NOT_READY; ++queued) {
    const Watch watch;
    must(queue(stream), "queue");
    longest = std::max(longest, watch.seconds());
    blocked = watch.seconds() > kBlocked;
  }
  stream.wait();
  return {{"queued", queued}, {"blocked", blocked}, {"longest_call_us", 1e6 * longest}};
}

Answer launch_depth(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  const std::uint64_t held = settings.quick ? 20'000'000 : 1'000'000'000;
  const int most = settings.quick ? 500 : 100'000;
  const CUfunction nothing = gpu.plain("nothing"), add = gpu.plain("add_to_words");
  PlainBlock block(kMiB);
  PinnedHost host(kMiB);
  Event event;
  const auto kernel = [&](CUstream stream) {
    return cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  };
  const auto with_parameters = [&](CUstream stream) {
    return launch(add, 1, 32, stream, CUdeviceptr(block), std::uint64_t{32}, 1U);
  };
  const auto record = [&](CUstream stream) { return cuEventRecord(event, stream); };
  const auto copy = [&](CUstream stream) { return cuMemcpyHtoDAsync(block, host.as<void>(), 4096, stream); };
  answer.results["kernels"] = depth(gpu, held, most, kernel);
  answer.results["kernels with parameters"] = depth(gpu, held, most, with_parameters);
  answer.results["event records"] = depth(gpu, held, most, record);
  answer.results["copies from pinned memory"] = depth(gpu, held, most, copy);
  return answer;
}

// ---- fences ----

// An event of the primary context on a stream: can it be recorded and waited for, and does it report completion
// correctly?
Json fence_on(Gpu& gpu, CUstream stream) {
  constexpr std::uint64_t kHeld = 20'000'000;
  Event fence;
  Stream waiting;
  const CUresult launched = launch(gpu.plain("wait_for"), 1, 1, stream, kHeld);
  const Watch watch;
  const CUresult recorded = cuEventRecord(fence, stream);
  const CUresult at_once = cuEventQuery(fence);
  const double queried = watch.seconds();
  const CUresult waits = cuStreamWaitEvent(waiting, fence, 0);
  const CUresult synchronized = cuEventSynchronize(fence);
  const double passed = watch.seconds();
  (void)cuCtxSynchronize();
  const bool too_early = recorded == CUDA_SUCCESS && at_once == CUDA_SUCCESS && queried < 1e-9 * kHeld / 2;
  return {{"launch", launched},
          {"record", recorded},
          {"query_at_once", at_once},
          {"wait_by_stream", waits},
          {"synchronize", synchronized},
          {"passed_after_ms", 1e3 * passed},
          {"too_early", too_early},
          {"works", launched == CUDA_SUCCESS && recorded == CUDA_SUCCESS && waits == CUDA_SUCCESS &&
                        synchronized == CUDA_SUCCESS && !too_early}};
}

// On a capturing stream a record becomes a node; is the event usable afterwards?
Json fence_on_capturing() {
  Stream stream;
  Event fence;
  CUgraph graph = nullptr;
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  const CUresult recorded = cuEventRecord(fence, stream);
  const CUresult asked = cuEventQuery(fence);
  const CUresult ended = cuStreamEndCapture(stream, &graph);
  if (graph != nullptr) (void)cuGraphDestroy(graph);
  const CUresult again = cuEventRecord(fence, stream);
  stream.wait();
  return {{"record", recorded},
          {"query", asked},
          {"end_capture", ended},
          {"record_afterwards", again},
          {"query_afterwards", cuEventQuery(fence)}};
}

// Functions of newer drivers are looked up at run time.
template <class Function>
Function driver_function(const char* name, int version) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult state{};
  const CUresult asked = cuGetProcAddress(name, &found, version, CU_GET_PROC_ADDRESS_DEFAULT, &state);
  if (asked != CUDA_SUCCESS || found == nullptr) throw NotHere{std::string("no ") + name};
  return reinterpret_cast<Function>(found);
}

Json fence_on_green(Gpu& gpu) {
  const auto resource_of = driver_function<decltype(&cuDeviceGetDevResource)>("cuDeviceGetDevResource", 12040);
  const auto describe = driver_function<decltype(&cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc", 12040);
  const auto create = driver_function<decltype(&cuGreenCtxCreate)>("cuGreenCtxCreate", 12040);
  const auto destroy = driver_function<decltype(&cuGreenCtxDestroy)>("cuGreenCtxDestroy", 12040);
  const auto stream_of = driver_function<decltype(&cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate", 12050);
  CUdevResource resource{};
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  CUstream stream = nullptr;
  must(resource_of(gpu.device(), &resource, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  must(describe(&description, &resource, 1), "cuDevResourceGenerateDesc");
  must(create(&green, description, gpu.device(), CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate");
  must(stream_of(&stream, green, CU_STREAM_NON_BLOCKING, 0), "cuGreenCtxStreamCreate");
  const Json found = fence_on(gpu, stream);
  (void)cuStreamDestroy(stream);
  (void)destroy(green);
  return found;
}

Answer fences_on_each_stream(const Settings&) {
  Gpu gpu;
  Answer answer;
  CUstream blocking = nullptr, urgent = nullptr;
  int least = 0, greatest = 0;
  MUST(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  MUST(cuCtxGetStreamPriorityRange(&least, &greatest));
  MUST(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, greatest));
  Stream plain;
  Json& found = answer.results;
  found["legacy"] = fence_on(gpu, nullptr);
  found["legacy by name"] = fence_on(gpu, CU_STREAM_LEGACY);
  found["per thread"] = fence_on(gpu, CU_STREAM_PER_THREAD);
  found["blocking"] = fence_on(gpu, blocking);
  found["non-blocking"] = fence_on(gpu, plain);
  found["of high priority"] = fence_on(gpu, urgent);
  bool all = true;
  for (const auto& [kind, facts] : found.items()) all = all && facts["works"].get<bool>();
  found["capturing"] = fence_on_capturing();
  try {
    found["green context"] = fence_on_green(gpu);
  } catch (const NotHere& reason) {
    found["green context"] = {{"why", reason.why}};
  } catch (const Failure& failure) {
    found["green context"] = {{"call", failure.call}, {"code", failure.code}};
  }
  (void)cuStreamDestroy(urgent);
  (void)cuStreamDestroy(blocking);
  answer.answer = all ? "yes" : "no";
  return answer;
}

}  // namespace

std::vector<Probe> queue_probes() {
  return {{"launch_depth", "how much can be queued on a stream before a call blocks", launch_depth},
          {"fences_on_each_stream", "do events of the primary context work on every kind of stream",
           fences_on_each_stream}};
}

}  // namespace first_light
