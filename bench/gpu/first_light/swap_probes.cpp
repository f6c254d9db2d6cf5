// The step that the whole design depends on: other memory at the same address, and no byte lost.
#include "gpu.hpp"

#include <chrono>

namespace first_light {
namespace {

// Keeps the device busy on its own memory, which the swaps must not affect.
class Bystander {
 public:
  Bystander(Gpu& gpu, bool quick)
      : kernel_(gpu.plain("churn_words")), words_(gpu), block_(kBytes), rounds_(quick ? 8 : 20000) {
    words_.fill(block_, kBytes, 1, stream_);
    stream_.wait();
  }
  // Launches another kernel if the last has ended.
  void go_on() {
    if (cuStreamQuery(stream_) != CUDA_SUCCESS) return;
    must(launch(kernel_, 4, 128, stream_, CUdeviceptr(block_), std::uint64_t{kBytes / 4}, rounds_), "churn_words");
    ++launches_;
  }
  std::uint64_t launches() const { return launches_; }
  // Whether every word went through the same steps.
  bool well() {
    stream_.wait();
    std::vector<std::uint32_t> seen(kBytes / 4);
    MUST(cuMemcpyDtoH(seen.data(), block_, kBytes));
    for (const std::uint32_t at :
         {0U, 1U, static_cast<std::uint32_t>(kBytes / 8), static_cast<std::uint32_t>(kBytes / 4 - 1)}) {
      std::uint32_t word = (at ^ 1U) * 2654435761U;
      for (std::uint64_t i = 0; i < launches_ * rounds_; ++i) word = word * 1664525U + 1013904223U;
      if (seen[at] != word) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kBytes = 64 << 10;
  CUfunction kernel_;
  Words words_;
  PlainBlock block_;
  Stream stream_;
  std::uint32_t rounds_;
  std::uint64_t launches_ = 0;
};

// A block at a fixed address, in a device frame or in a host frame. Each frame is also mapped at an address of its own,
// which the copies use.
class Traveller {
 public:
  Traveller(Gpu& gpu, std::size_t bytes)
      : bytes_(bytes),
        device_(gpu, Place::kDevice, bytes),
        host_(gpu, Place::kHost, bytes),
        home_(gpu, bytes),
        device_alias_(gpu, bytes),
        host_alias_(gpu, bytes) {
    home_.mount(device_);
    device_alias_.mount(device_);
    host_alias_.mount(host_);
  }
  CUdeviceptr address() const { return home_.at(); }

  // Copies, waits, then maps other memory at the address. REQUIRES: nothing uses the block meanwhile.
  void move_to(Place place, CUstream stream) {
    const bool out = place == Place::kHost;
    MUST(cuMemcpyDtoDAsync(out ? host_alias_.at() : device_alias_.at(), home_.at(), bytes_, stream));
    MUST(cuStreamSynchronize(stream));
    const Watch watch;
    must(home_.unmap(0, bytes_), "cuMemUnmap");
    must(home_.map(out ? host_ : device_), "cuMemMap");
    CUresult opened = home_.open(0, bytes_);
    while (opened == CUDA_ERROR_NOT_READY && not_ready_ < 1000) {
      ++not_ready_;
      opened = home_.open(0, bytes_);
    }
    must(opened, "cuMemSetAccess");
    (out ? out_us_ : in_us_).push_back(1e6 * watch.seconds());
  }
  Json times() const {
    return {{"remap_out_us", spread(out_us_)}, {"remap_in_us", spread(in_us_)}, {"not_ready", not_ready_}};
  }

 private:
  std::size_t bytes_;
  Frame device_, host_;
  Window home_, device_alias_, host_alias_;
  std::vector<double> out_us_, in_us_;
  int not_ready_ = 0;
};

Answer swap(std::size_t bytes, int rounds, double seconds, const Settings& settings) {
  Gpu gpu;
  Words words(gpu);
  Stream stream;
  Traveller block(gpu, bytes);
  Bystander bystander(gpu, settings.quick);
  const CUfunction add = gpu.plain("add_to_words");
  const Watch watch;
  int done = 0, wrong_cold = 0, wrong_back = 0;
  for (; done < rounds && watch.seconds() < seconds; ++done) {
    const auto seed = static_cast<std::uint32_t>(done);
    bystander.go_on();
    words.fill(block.address(), bytes, seed, stream);
    const std::uint64_t filled = words.sum(block.address(), bytes, stream);
    block.move_to(Place::kHost, stream);
    bystander.go_on();
    wrong_cold += words.sum(block.address(), bytes, stream) != filled;
    // A kernel writes to the cold block, and the written data must come back.
    must(launch(add, 64, 128, stream, block.address(), std::uint64_t{bytes / 4}, seed), "add");
    const std::uint64_t changed = words.sum(block.address(), bytes, stream);
    block.move_to(Place::kDevice, stream);
    wrong_back += words.sum(block.address(), bytes, stream) != changed;
  }
  const bool bystander_well = bystander.well();
  Json results = {{"page_bytes", bytes},
                  {"round_trips", done},
                  {"wrong_while_on_host", wrong_cold},
                  {"wrong_back_on_device", wrong_back},
                  {"kernels_beside", bystander.launches()},
                  {"kernels_beside_right", bystander_well},
                  {"seconds", watch.seconds()}};
  results.update(block.times());
  return yes_if(done > 0 && wrong_cold + wrong_back == 0 && bystander_well, results);
}

Answer swap_small(const Settings& settings) { return swap(2 * kMiB, settings.quick ? 3 : 10000, 25, settings); }

Answer swap_large(const Settings& settings) { return swap(32 * kMiB, settings.quick ? 1 : 500, 15, settings); }

}  // namespace

std::vector<Probe> swap_probes() {
  return {{"swap_2_mib", "does a 2 MiB page keep its bytes, device to host to device", swap_small},
          {"swap_32_mib", "does a 32 MiB page keep its bytes, device to host to device", swap_large}};
}

}  // namespace first_light
