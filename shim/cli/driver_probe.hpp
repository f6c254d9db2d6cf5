// Properties and abilities of this machine's CUDA driver, found by querying and by trying.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct DeviceFacts {
  std::string name;
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
  bool virtual_memory = false;      // pages can be mapped and unmapped
  bool host_frames = false;         // host memory can be mapped at device addresses
  std::string host_frames_problem;  // the error of the attempt, or ""
  bool pins_host_memory = false;
};

struct DriverFacts {
  bool found = false;             // the library could be opened
  std::string path;               // of the library
  int version = 0;                // 13000 is CUDA 13.0
  std::string problem;            // why it cannot be used, or ""
  bool tells_parameters = false;  // kernel parameter layouts; without them the preload library does not start
  std::vector<DeviceFacts> devices;

  bool usable() const { return problem.empty() && !devices.empty(); }
};

// `library` is a path, or the name libcuda.so.1. Makes a context on each device.
DriverFacts probe_driver(const std::string& library);

// The devices of the libcuda.so.1 that a program would find. Probed in a child process, so that the driver leaves
// nothing in this one.
struct GpusHere {
  bool usable = false;      // there is one
  bool manageable = false;  // all of them have virtual memory management and memory pools
};
GpusHere probe_gpus();
bool has_usable_gpu();
