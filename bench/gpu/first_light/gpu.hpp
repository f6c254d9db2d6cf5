// The device under test: its context, its kernels, and RAII owners for what a probe creates on it.
//
// Owners ignore errors on release: a probe may have made the context unusable.
//
// Thread safety: none; a second thread enters the context with Gpu::enter.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "probe.hpp"

// cuda.h maps the name to the second version, which only drivers since 12.8 have; the first has the same signature.
#undef cuEventElapsedTime
extern "C" CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);

namespace first_light {

class Gpu {
 public:
  Gpu();
  void enter() const { MUST(cuCtxSetCurrent(context_)); }

  CUdevice device() const { return device_; }
  int attribute(CUdevice_attribute which) const;
  // The plain kernels exist for every device; device_only kernels need a GPU.
  CUfunction plain(const char* kernel);
  CUfunction device_only(const char* kernel);

 private:
  CUfunction find(CUmodule module, const char* kernel) const;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule plain_ = nullptr;
  CUmodule device_only_ = nullptr;
};

// The file with the plain kernels in the format that this driver accepts.
std::string plain_kernels_file();

enum class Place { kDevice, kHost };
inline const char* text(Place place) { return place == Place::kDevice ? "device" : "host"; }

CUmemAllocationProp properties(const Gpu& gpu, Place place);

// One physical allocation without an address.
class Frame {
 public:
  Frame(const Gpu& gpu, Place place, std::size_t bytes);
  ~Frame() { (void)cuMemRelease(handle_); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  CUmemGenericAllocationHandle handle() const { return handle_; }
  std::size_t bytes() const { return bytes_; }
  Place place() const { return place_; }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
  std::size_t bytes_;
  Place place_;
};

// A reserved address range in which frames are mapped and unmapped.
class Window {
 public:
  Window(const Gpu& gpu, std::size_t bytes);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  CUdeviceptr at(std::size_t offset = 0) const { return address_ + offset; }
  std::size_t bytes() const { return bytes_; }
  // Map without access, set access, and unmap; each one driver call.
  CUresult map(const Frame& frame, std::size_t offset = 0);
  CUresult open(std::size_t offset, std::size_t bytes) const;
  CUresult unmap(std::size_t offset, std::size_t bytes);
  // Map and set access; throws on failure.
  void mount(const Frame& frame, std::size_t offset = 0);
  // Gives the CPU access too: host frames only.
  CUresult open_for_cpu(std::size_t offset, std::size_t bytes) const;

 private:
  const Gpu& gpu_;
  CUdeviceptr address_ = 0;
  std::size_t bytes_;
  std::map<std::size_t, std::size_t> mapped_;  // offset to bytes
};

class Stream {
 public:
  Stream() { MUST(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING)); }
  ~Stream() { (void)cuStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator CUstream() const { return stream_; }
  void wait() const { MUST(cuStreamSynchronize(stream_)); }

 private:
  CUstream stream_ = nullptr;
};

// Copies within the device and memsets return before they are done, and a Stream does not wait for them.
inline void finish_default_stream() { MUST(cuStreamSynchronize(CU_STREAM_LEGACY)); }

class Event {
 public:
  Event() { MUST(cuEventCreate(&event_, CU_EVENT_DEFAULT)); }
  ~Event() { (void)cuEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator CUevent() const { return event_; }
  // Milliseconds since `start`.
  double since(const Event& start) const;

 private:
  CUevent event_ = nullptr;
};

// Memory pinned by the driver.
class PinnedHost {
 public:
  explicit PinnedHost(std::size_t bytes) { MUST(cuMemAllocHost(&memory_, bytes)); }
  ~PinnedHost() { (void)cuMemFreeHost(memory_); }
  PinnedHost(const PinnedHost&) = delete;
  PinnedHost& operator=(const PinnedHost&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

// cuMemAlloc: memory without virtual memory management.
class PlainBlock {
 public:
  explicit PlainBlock(std::size_t bytes) { MUST(cuMemAlloc(&address_, bytes)); }
  ~PlainBlock() { (void)cuMemFree(address_); }
  PlainBlock(const PlainBlock&) = delete;
  PlainBlock& operator=(const PlainBlock&) = delete;
  operator CUdeviceptr() const { return address_; }

 private:
  CUdeviceptr address_ = 0;
};

// Launches with parameters of any type.
template <class... Parameters>
CUresult launch(CUfunction kernel, unsigned blocks, unsigned threads, CUstream stream, Parameters... parameters) {
  std::array<void*, sizeof...(Parameters) + 1> addresses{static_cast<void*>(&parameters)...};
  return cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, addresses.data(), nullptr);
}

// Fills and sums words with kernels, so that contents are checked as work on the device sees them.
class Words {
 public:
  explicit Words(Gpu& gpu);
  void fill(CUdeviceptr at, std::size_t bytes, std::uint32_t seed, CUstream stream);
  // Waits for the stream.
  std::uint64_t sum(CUdeviceptr at, std::size_t bytes, CUstream stream);
  // The value of sum() after fill().
  static std::uint64_t expected(std::size_t bytes, std::uint32_t seed);

 private:
  static constexpr unsigned kBlocks = 64, kThreads = 128;
  CUfunction fill_, sum_;
  PinnedHost sums_;
};

}  // namespace first_light
