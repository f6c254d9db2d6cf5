// Which loaded objects are the CUDA driver: what programs open as libcuda.so.1, and what stands beneath that name.
//
// Why: libcuda.so.1 may be a thin loader whose functions jump to those that it looked up in the true driver, as on
// WSL2 and where a GPU is divided, and such layers may be stacked. What is beneath must get the driver's own
// functions: a hook would call the loader, and that the hook again. Programs above it get hooks, whatever the file is
// called and however it was opened.
//
// A driver's object is known by its file's name or its SONAME, libcuda.so with anything behind it; by a look-up
// that a known one made in it; or because a known one needs it.
//
// Thread safety: any thread, also inside of a constructor that the loader runs. No lock is held while the loader is
// asked. Invariants: an object that is known stays loaded.
#pragma once

#include <atomic>
#include <cstdint>

namespace tessera::preload {

namespace detail {
constexpr int kMostDriverObjects = 16;  // others are programs' own
struct DriverObject {
  std::atomic<std::uintptr_t> low{0};
  std::atomic<std::uintptr_t> high{0};
};
// The first driver_object_count are set, and stay.
extern constinit DriverObject driver_objects[kMostDriverObjects];
extern constinit std::atomic<int> driver_object_count;
}  // namespace detail

// A compare for each known object, of which a usual process has one.
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

// The same, and looks first at what was loaded since it was asked last.
bool lies_in_driver(const void* address);

// Whether a look-up of the driver's function at `found`, by the code at `caller`, is made beneath the driver: by one of
// its objects, or by a helper on its behalf.
bool is_beneath_driver(const void* caller, const void* found);

// A handle of the outermost driver that is loaded, for dlsym; null where none is.
void* open_loaded_driver();

}  // namespace tessera::preload
