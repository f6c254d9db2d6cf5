// Which loaded objects belong to the CUDA driver: the library opened as libcuda.so.1, and the libraries below it.
//
// Why: libcuda.so.1 may be a thin loader whose functions jump to those that it looked up in the real driver, as on WSL2
// and on partitioned GPUs, and such layers may be stacked. Code below the loader must get the driver's own functions: a
// hook would call the loader, and the loader the hook again. Programs above it get hooks, whatever the file's name and
// however it was opened.
//
// An object counts as the driver's if its file name or its SONAME begins with libcuda.so, if a known driver object
// looked up a function in it, or if a known driver object depends on it.
//
// Thread safety: any thread, also inside a constructor that the loader runs. No lock is held during loader calls.
// Invariants: a known object stays loaded.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::preload {

namespace detail {
constexpr int kMostDriverObjects = 16;  // objects beyond these are treated as the program's own
struct DriverObject {
  std::atomic<std::uintptr_t> low{0};
  std::atomic<std::uintptr_t> high{0};
};
// The first driver_object_count entries are set and never change.
extern constinit DriverObject driver_objects[kMostDriverObjects];
extern constinit std::atomic<int> driver_object_count;
}  // namespace detail

// Costs one comparison per known object; a typical process has one.
inline bool lies_in_known_driver(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  const int count = detail::driver_object_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    const detail::DriverObject& known = detail::driver_objects[i];
    if (wanted >= known.low.load(std::memory_order_relaxed) && wanted < known.high.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// The same, but first examines objects loaded since the last call.
bool lies_in_driver(const void* address);

// Whether the code at `caller`, which looked up the driver's function at `found`, is below the driver: one of its
// objects, or a helper acting for one.
bool is_beneath_driver(const void* caller, const void* found);

// A handle of the outermost loaded driver for dlsym; null if none is loaded.
void* open_loaded_driver();

}  // namespace tessera::preload
