// The link between host and device: each direction alone and both at once, by kind of pinned memory.
#include "gpu.hpp"

#include <sys/mman.h>

#include <memory>

namespace first_light {
namespace {

// Host memory of one kind, and the address that the device's copies use for it.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual CUresult copy_in(CUdeviceptr to, std::size_t bytes, CUstream stream) = 0;
  virtual CUresult copy_out(CUdeviceptr from, std::size_t bytes, CUstream stream) = 0;
};

class ByAddress : public HostMemory {
 public:
  CUresult copy_in(CUdeviceptr to, std::size_t bytes, CUstream stream) override {
    return cuMemcpyHtoDAsync(to, memory_, bytes, stream);
  }
  CUresult copy_out(CUdeviceptr from, std::size_t bytes, CUstream stream) override {
    return cuMemcpyDtoHAsync(memory_, from, bytes, stream);
  }

 protected:
  void* memory_ = nullptr;
};

// cudaMallocHost makes this call.
class AllocatedHost final : public ByAddress {
 public:
  explicit AllocatedHost(std::size_t bytes) { MUST(cuMemAllocHost(&memory_, bytes)); }
  ~AllocatedHost() override { (void)cuMemFreeHost(memory_); }
};

// As Tessera does: our own pages, then registered.
class RegisteredHost final : public ByAddress {
 public:
  explicit RegisteredHost(std::size_t bytes) : bytes_(bytes) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory_ == MAP_FAILED) throw NotHere{"no host memory"};
    MUST(cuMemHostRegister(memory_, bytes, 0));
  }
  ~RegisteredHost() override {
    (void)cuMemHostUnregister(memory_);
    (void)::munmap(memory_, bytes_);
  }

 private:
  std::size_t bytes_;
};

// A host frame mapped at a device address.
class FrameHost final : public HostMemory {
 public:
  FrameHost(const Gpu& gpu, std::size_t bytes) : frame_(gpu, Place::kHost, bytes), window_(gpu, bytes) {
    window_.mount(frame_);
  }
  CUresult copy_in(CUdeviceptr to, std::size_t bytes, CUstream stream) override {
    return cuMemcpyDtoDAsync(to, window_.at(), bytes, stream);
  }
  CUresult copy_out(CUdeviceptr from, std::size_t bytes, CUstream stream) override {
    return cuMemcpyDtoDAsync(window_.at(), from, bytes, stream);
  }

 private:
  Frame frame_;
  Window window_;
};

// Bytes per second between two events of the stream.
double rate(std::size_t bytes, const Event& started, const Event& ended) {
  return static_cast<double>(bytes) / (1e-3 * ended.since(started));
}

// `total` bytes in copies of `bytes`, in one direction or in both at once.
Json rates(HostMemory& inward, HostMemory& outward, CUdeviceptr a, CUdeviceptr b, std::size_t bytes,
           std::size_t total) {
  Stream in, out;
  Event in_started, in_ended, out_started, out_ended;
  const std::size_t copies = std::max<std::size_t>(total / bytes, 1);
  const auto go = [&](bool inbound, bool outbound) {
    if (inbound) MUST(cuEventRecord(in_started, in));
    if (outbound) MUST(cuEventRecord(out_started, out));
    for (std::size_t i = 0; i < copies; ++i) {
      if (inbound) must(inward.copy_in(a, bytes, in), "copy in");
      if (outbound) must(outward.copy_out(b, bytes, out), "copy out");
    }
    if (inbound) MUST(cuEventRecord(in_ended, in));
    if (outbound) MUST(cuEventRecord(out_ended, out));
    in.wait();
    out.wait();
  };
  const std::size_t moved = copies * bytes;
  Json found = Json::object();
  go(true, true);  // the first copies are slower
  go(true, false);
  found["in"] = rate(moved, in_started, in_ended);
  go(false, true);
  found["out"] = rate(moved, out_started, out_ended);
  go(true, true);
  found["in_while_out"] = rate(moved, in_started, in_ended);
  found["out_while_in"] = rate(moved, out_started, out_ended);
  return found;
}

template <class Make>
Answer link(const Settings& settings, Make make) {
  Gpu gpu;
  Answer answer;
  const std::size_t largest = settings.quick ? 4 * kMiB : 256 * kMiB;
  const Watch watch;
  const std::unique_ptr<HostMemory> inward = make(gpu, largest);
  answer.results["made_in_seconds"] = watch.seconds();
  const std::unique_ptr<HostMemory> outward = make(gpu, largest);
  PlainBlock a(largest), b(largest);
  const std::size_t total = settings.quick ? 8 * kMiB : 2048 * kMiB;
  for (const std::size_t bytes : {kMiB / 16, 2 * kMiB, 32 * kMiB, 256 * kMiB}) {
    if (bytes > largest) continue;
    answer.results["bytes_per_second"][std::to_string(bytes)] =
        rates(*inward, *outward, a, b, bytes, bytes < kMiB ? total / 16 : total);
  }
  return answer;
}

Answer link_allocated(const Settings& settings) {
  return link(settings, [](const Gpu&, std::size_t bytes) { return std::make_unique<AllocatedHost>(bytes); });
}
Answer link_registered(const Settings& settings) {
  return link(settings, [](const Gpu&, std::size_t bytes) { return std::make_unique<RegisteredHost>(bytes); });
}
Answer link_frames(const Settings& settings) {
  return link(settings, [](const Gpu& gpu, std::size_t bytes) { return std::make_unique<FrameHost>(gpu, bytes); });
}

using BatchCopy = CUresult (*)(CUdeviceptr*, CUdeviceptr*, std::size_t*, std::size_t, CUmemcpyAttributes*, std::size_t*,
                               std::size_t, CUstream);

// Looked up at run time, because drivers before 13.0 lack this variant.
BatchCopy batch_copy() {
  void* found = nullptr;
  CUdriverProcAddressQueryResult state{};
  const CUresult asked = cuGetProcAddress("cuMemcpyBatchAsync", &found, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &state);
  if (asked != CUDA_SUCCESS || found == nullptr) throw NotHere{"no cuMemcpyBatchAsync of 13.0"};
  return reinterpret_cast<BatchCopy>(found);
}

struct Timed {
  double call_us, all_us;
  Json json() const { return {{"call_us", call_us}, {"until_done_us", all_us}}; }
};

template <class Queue>
Timed timed(const Stream& stream, Queue queue) {
  Timed best{1e30, 1e30};
  for (int turn = 0; turn < 5; ++turn) {
    const Watch watch;
    queue();
    const double called = watch.seconds();
    stream.wait();
    best = {std::min(best.call_us, 1e6 * called), std::min(best.all_us, 1e6 * watch.seconds())};
  }
  return best;
}

// Many small copies: one call each, or one call for all.
Answer copies_in_a_batch(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  const BatchCopy batch = batch_copy();
  for (const std::size_t bytes : {kMiB / 16, 2 * kMiB}) {
    const std::size_t count = settings.quick ? 4 : 128;
    const Stream stream;
    const PlainBlock device(count * bytes);
    const PinnedHost host(count * bytes);
    std::vector<CUdeviceptr> to, from;
    std::vector<std::size_t> sizes(count, bytes);
    for (std::size_t i = 0; i < count; ++i) {
      to.push_back(device + i * bytes);
      from.push_back(reinterpret_cast<CUdeviceptr>(host.as<char>() + i * bytes));
    }
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    std::size_t first = 0;
    const Timed each = timed(stream, [&] {
      for (std::size_t i = 0; i < count; ++i) {
        MUST(cuMemcpyHtoDAsync(to[i], host.as<char>() + i * bytes, bytes, stream));
      }
    });
    const Timed at_once = timed(stream, [&] {
      must(batch(to.data(), from.data(), sizes.data(), count, &attributes, &first, 1, stream), "cuMemcpyBatchAsync");
    });
    answer.results[std::to_string(count) + " copies of " + std::to_string(bytes)] = {{"a call each", each.json()},
                                                                                     {"one call", at_once.json()}};
  }
  return answer;
}

// Kernel throughput on a block that stayed on the host: the price of a missed access.
Answer kernel_speed(const Settings& settings) {
  Gpu gpu;
  Answer answer;
  const std::size_t bytes = settings.quick ? 4 * kMiB : 256 * kMiB;
  const CUfunction read = gpu.plain("read_wide"), write = gpu.plain("write_wide");
  const auto processors = static_cast<unsigned>(gpu.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  const unsigned blocks = settings.quick ? 4 : processors * 8;
  PlainBlock sink(4096);
  for (const Place place : {Place::kDevice, Place::kHost}) {
    Stream stream;
    Frame frame(gpu, place, bytes);
    Window window(gpu, bytes);
    window.mount(frame);
    Event started, read_done, written;
    for (int warm = 0; warm < 2; ++warm) {
      MUST(cuEventRecord(started, stream));
      must(launch(read, blocks, 256, stream, window.at(), std::uint64_t{bytes / 16}, CUdeviceptr(sink)), "read_wide");
      MUST(cuEventRecord(read_done, stream));
      must(launch(write, blocks, 256, stream, window.at(), std::uint64_t{bytes / 16}, 5U), "write_wide");
      MUST(cuEventRecord(written, stream));
      stream.wait();
    }
    answer.results[text(place)] = {{"read_bytes_per_second", rate(bytes, started, read_done)},
                                   {"write_bytes_per_second", rate(bytes, read_done, written)}};
  }
  return answer;
}

}  // namespace

std::vector<Probe> link_probes() {
  return {{"link_allocated", "bytes per second, memory of cuMemAllocHost", link_allocated},
          {"link_registered", "bytes per second, memory pinned by cuMemHostRegister", link_registered},
          {"link_host_frames", "bytes per second, host frames", link_frames},
          {"copies_in_a_batch", "microseconds of many copies, a call each or one call", copies_in_a_batch},
          {"kernel_on_host_frames", "bytes per second of kernels, device and host frames", kernel_speed}};
}

}  // namespace first_light
