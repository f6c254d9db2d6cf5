#include "driver_objects.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "bare_text.hpp"

namespace tessera::preload {

namespace detail {
constinit DriverObject driver_objects[kMostDriverObjects]{};
constinit std::atomic<int> driver_object_count{0};
}  // namespace detail

namespace {

constexpr const char* kDriverName = "libcuda.so";
// How many stack frames above a helper the driver may be.
constexpr int kMostFrames = 32;

constinit std::mutex objects_lock;
// The loader's counter of loaded objects at the last scan of all objects.
constinit std::atomic<unsigned long long> looked_at{0};

struct Extents {
  std::uintptr_t low = std::numeric_limits<std::uintptr_t>::max();
  std::uintptr_t high = 0;
};

Extents extents_of(const dl_phdr_info& object) {
  Extents extents;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    extents.low = std::min(extents.low, object.dlpi_addr + part.p_vaddr);
    extents.high = std::max(extents.high, object.dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  return extents;
}

bool holds(const Extents& extents, const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  return wanted >= extents.low && wanted < extents.high;
}

// Calls visit(tag, text) for each entry of the dynamic section that names a file.
template <class Visit>
void visit_names(const dl_phdr_info& object, Visit visit) {
  const ElfW(Dyn)* section = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    if (part.p_type == PT_DYNAMIC) section = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + part.p_vaddr);
  }
  const char* names = nullptr;
  for (const ElfW(Dyn)* entry = section; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    // glibc relocates this pointer in memory, except for the kernel's own object.
    const ElfW(Addr) table = entry->d_un.d_ptr;
    names = reinterpret_cast<const char*>(table < object.dlpi_addr ? object.dlpi_addr + table : table);
  }
  if (names == nullptr) return;
  for (const ElfW(Dyn)* entry = section; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SONAME || entry->d_tag == DT_NEEDED) visit(entry->d_tag, names + entry->d_un.d_val);
  }
}

const char* path_of(const dl_phdr_info& object) { return object.dlpi_name != nullptr ? object.dlpi_name : ""; }

const char* soname_of(const dl_phdr_info& object) {
  const char* soname = "";
  visit_names(object, [&](auto tag, const char* text) {
    if (tag == DT_SONAME) soname = text;
  });
  return soname;
}

bool is_named_as_driver(const dl_phdr_info& object) {
  return begins_with(file_name(path_of(object)), kDriverName) || begins_with(soname_of(object), kDriverName);
}

// Calls body(object) for each loaded object, in load order, until it returns true.
template <class Body>
void visit_objects(Body body) {
  const auto visit = [](dl_phdr_info* object, std::size_t, void* data) {
    return (*static_cast<Body*>(data))(*object) ? 1 : 0;
  };
  (void)dl_iterate_phdr(visit, &body);
}

// Takes a handle, which keeps the object loaded. The program's own dlerror state must not change after a successful
// look-up, so a failure here is cleared.
void* handle_of_path(const char* path) {
  void* const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) (void)dlerror();
  return handle;
}

void remember(const Extents& extents) {
  const std::lock_guard<std::mutex> guard(objects_lock);
  const int count = detail::driver_object_count.load();
  if (count == detail::kMostDriverObjects) return;
  for (int i = 0; i < count; ++i) {
    if (detail::driver_objects[i].low.load() == extents.low) return;
  }
  detail::driver_objects[count].low.store(extents.low);
  detail::driver_objects[count].high.store(extents.high);
  detail::driver_object_count.store(count + 1, std::memory_order_release);
}

// Finds the first object for which wanted(object) holds, keeps it loaded, and records it as a driver object.
template <class Wanted>
bool remember_where(Wanted wanted) {
  Extents extents;
  const char* path = nullptr;
  visit_objects([&](const dl_phdr_info& object) {
    if (!wanted(object)) return false;
    extents = extents_of(object);
    path = path_of(object);
    return true;
  });
  if (path == nullptr) return false;
  remember(extents);
  (void)handle_of_path(path);
  return true;
}

bool is_known(const dl_phdr_info& object) {
  return lies_in_known_driver(reinterpret_cast<const void*>(extents_of(object).low));
}

unsigned long long count_of_loaded() {
  unsigned long long count = 0;
  visit_objects([&](const dl_phdr_info& object) {
    count = object.dlpi_adds;
    return true;
  });
  return count;
}

// Cheap if nothing was loaded since the last call.
void look_at_new_objects() {
  const unsigned long long loaded = count_of_loaded();
  if (looked_at.load(std::memory_order_acquire) == loaded) return;
  while (remember_where([](const dl_phdr_info& object) { return is_named_as_driver(object) && !is_known(object); })) {
    if (detail::driver_object_count.load() == detail::kMostDriverObjects) break;
  }
  looked_at.store(loaded, std::memory_order_release);
}

bool is_needed_as(const dl_phdr_info& object, const char* file, const char* soname) {
  bool needed = false;
  visit_names(object, [&](auto tag, const char* text) {
    if (tag == DT_NEEDED) needed = needed || same_text(text, file) || same_text(text, soname);
  });
  return needed;
}

// The constructor of such a library may look up functions before any object that depends on it has run.
bool is_needed_by_driver(const void* caller) {
  const char* file = nullptr;
  const char* soname = "";
  visit_objects([&](const dl_phdr_info& object) {
    if (!holds(extents_of(object), caller)) return false;
    file = file_name(path_of(object));
    soname = soname_of(object);
    return true;
  });
  if (file == nullptr || *file == '\0') return false;  // the main program
  bool needed = false;
  visit_objects([&](const dl_phdr_info& object) {
    needed = is_known(object) && is_needed_as(object, file, soname);
    return needed;
  });
  return needed;
}

struct Frames {
  int left;
  bool in_driver;
};

bool driver_is_on_stack() {
  Frames frames{kMostFrames, false};
  const auto visit = [](_Unwind_Context* context, void* data) {
    Frames& seen = *static_cast<Frames*>(data);
    seen.in_driver = lies_in_known_driver(reinterpret_cast<const void*>(_Unwind_GetIP(context)));
    return seen.in_driver || --seen.left == 0 ? _URC_NORMAL_STOP : _URC_NO_REASON;
  };
  (void)_Unwind_Backtrace(visit, &frames);
  return frames.in_driver;
}

}  // namespace

bool lies_in_driver(const void* address) {
  look_at_new_objects();
  return lies_in_known_driver(address);
}

bool is_beneath_driver(const void* caller, const void* found) {
  look_at_new_objects();
  const auto holds_found = [found](const dl_phdr_info& object) { return holds(extents_of(object), found); };
  if (lies_in_known_driver(caller)) {
    if (!lies_in_known_driver(found)) (void)remember_where(holds_found);
    return true;
  }
  // Layers are stacked: a helper of the outer layer looks up functions of the inner one.
  if (detail::driver_object_count.load(std::memory_order_acquire) < 2) return false;
  return is_needed_by_driver(caller) || driver_is_on_stack();
}

void* open_loaded_driver() {
  look_at_new_objects();
  const char* path = nullptr;
  visit_objects([&](const dl_phdr_info& object) {
    if (is_known(object)) path = path_of(object);
    return path != nullptr;
  });
  return path != nullptr ? handle_of_path(path) : nullptr;
}

}  // namespace tessera::preload
