// Device-scope atomics of one GPU on pages in host memory: is any update lost?
#include "gpu.hpp"

#include <cstring>
#include <utility>

namespace first_light {
namespace {

enum class Kind { kInteger, kFloat, kDouble, kHalves, kWide };

// Kernels of device_kernels.cu: every thread adds one, `rounds` times, to the first word. Few threads where an attempt
// can fail, since each failure is a round trip over the link.
struct Atomic {
  const char* name;
  std::size_t bytes;
  Kind kind;
  unsigned blocks, threads, rounds;
  std::uint64_t updates() const { return std::uint64_t{blocks} * threads * rounds; }
};
// A float counts single steps up to 2^24, a half up to 2048.
constexpr Atomic kAtomics[] = {
    {"atomic_add_32", 4, Kind::kInteger, 64, 128, 64},  {"atomic_add_64", 8, Kind::kInteger, 64, 128, 64},
    {"atomic_add_float", 4, Kind::kFloat, 64, 128, 64}, {"atomic_add_double", 8, Kind::kDouble, 64, 128, 64},
    {"atomic_add_halves", 4, Kind::kHalves, 32, 1, 64}, {"atomic_cas_32", 4, Kind::kInteger, 32, 1, 64},
    {"atomic_cas_64", 8, Kind::kInteger, 32, 1, 64},    {"atomic_cas_128", 16, Kind::kWide, 32, 1, 64}};

template <class T>
T first(const unsigned char* raw) {
  T value;
  std::memcpy(&value, raw, sizeof(T));
  return value;
}

bool right(const Atomic& atomic, CUdeviceptr at) {
  unsigned char raw[16] = {};
  MUST(cuMemcpyDtoH(raw, at, sizeof(raw)));
  const std::uint64_t wanted = atomic.updates();
  switch (atomic.kind) {
    case Kind::kFloat: return first<float>(raw) == static_cast<float>(wanted);
    case Kind::kDouble: return first<double>(raw) == static_cast<double>(wanted);
    case Kind::kHalves: return first<std::uint32_t>(raw) == 0x68006800U;  // twice 2048
    case Kind::kWide:                                                     // the low word counts up, the high word down
      return first<std::uint64_t>(raw) == wanted && first<std::uint64_t>(raw + 8) == ~wanted + 1;
    case Kind::kInteger: break;
  }
  return atomic.bytes == 4 ? first<std::uint32_t>(raw) == wanted : first<std::uint64_t>(raw) == wanted;
}

Json try_on(Gpu& gpu, const Atomic& atomic, Place place) {
  Stream stream;
  const CUfunction kernel = gpu.device_only(atomic.name);
  Frame frame(gpu, place, kPage);
  Window window(gpu, kPage);
  window.mount(frame);
  MUST(cuMemsetD8(window.at(), 0, kPage));
  finish_default_stream();
  const Watch watch;
  must(launch(kernel, atomic.blocks, atomic.threads, stream, window.at(), atomic.rounds), atomic.name);
  stream.wait();
  const double seconds = watch.seconds();
  return {{"right", right(atomic, window.at())},
          {"updates", atomic.updates()},
          {"updates_per_second", static_cast<double>(atomic.updates()) / seconds}};
}

template <std::size_t which>
Answer ask(const Settings&) {
  Gpu gpu;
  const Json device = try_on(gpu, kAtomics[which], Place::kDevice);
  const Json host = try_on(gpu, kAtomics[which], Place::kHost);
  return yes_if(host["right"], {{"host", host}, {"device", device}});
}

template <std::size_t... which>
std::vector<Probe> table(std::index_sequence<which...>) {
  return {{kAtomics[which].name, "do device-scope atomics on host frames lose no update", ask<which>}...};
}

}  // namespace

std::vector<Probe> atomic_probes() { return table(std::make_index_sequence<std::size(kAtomics)>()); }

}  // namespace first_light
