#include "nccl_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <type_traits>

#include "bare_text.hpp"
#include "outcome.hpp"
#include "true_loader.hpp"

namespace tessera::preload {

namespace detail {
constinit std::atomic<const TrueNccl*> nccls[kMostNccls]{};
}  // namespace detail

namespace {

// Every NCCL exports it, and we define no function of that name.
constexpr const char* kInEveryNccl = "ncclCommCount";

struct Hooked {
  const char* name;
  void* function;
};

#define NCCL_HOOK(name) {#name, reinterpret_cast<void*>(&::name)},
const Hooked kNcclHooks[] = {
#include "nccl_hooks.inc"
};
#undef NCCL_HOOK

// The address range of an object, from its first loaded byte to its last.
struct LoadedRange {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
};

// An object that calls NCCL, and the NCCL that it is bound to.
struct Caller {
  LoadedRange range;
  const TrueNccl* nccl;
};

constexpr int kMostCallers = 32;  // further callers are looked up at each call

constinit std::mutex lock;
constinit Caller callers[kMostCallers]{};  // the first caller_count entries are set and never change
constinit std::atomic<int> caller_count{0};
constinit std::atomic<const TrueNccl*> by_pointer{nullptr};

LoadedRange range_of(const void* inside) {
  struct Search {
    std::uintptr_t inside;
    LoadedRange found;
  } search{reinterpret_cast<std::uintptr_t>(inside), {}};
  const auto visit = [](dl_phdr_info* object, std::size_t, void* data) {
    Search& wanted = *static_cast<Search*>(data);
    LoadedRange extent{~std::uintptr_t{0}, 0};
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = object->dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      extent.low = std::min(extent.low, object->dlpi_addr + part.p_vaddr);
      extent.high = std::max(extent.high, object->dlpi_addr + part.p_vaddr + part.p_memsz);
    }
    if (wanted.inside < extent.low || wanted.inside >= extent.high) return 0;
    wanted.found = extent;
    return 1;
  };
  (void)dl_iterate_phdr(visit, &search);
  return search.found;
}

// The loaded object that contains `inside`; it stays loaded from then on. Null for the main program.
void* handle_of(const void* inside) {
  Dl_info where{};
  if (dladdr(inside, &where) == 0 || where.dli_fname == nullptr) return nullptr;
  return dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

const TrueNccl* known_by(const void* function) {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  for (const std::atomic<const TrueNccl*>& place : detail::nccls) {
    const TrueNccl* const known = place.load(std::memory_order_acquire);
    if (known != nullptr && address >= known->low && address < known->high) return known;
  }
  return nullptr;
}

// If NCCL is linked into a larger library, its allocations cannot be distinguished from that library's others.
bool is_nccl_alone(const void* function) {
  Dl_info where{};
  return dladdr(function, &where) != 0 && where.dli_fname != nullptr &&
         begins_with(file_name(where.dli_fname), "libnccl");
}

std::unique_ptr<TrueNccl> read_nccl(const void* function) {
  void* const library = handle_of(function);
  if (library == nullptr) return nullptr;
  auto made = std::make_unique<TrueNccl>();
  const auto look_up = [&](auto& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(true_dlsym(library, name));
  };
#define NCCL_HOOK(name) look_up(made->name, #name);
#include "nccl_hooks.inc"
#undef NCCL_HOOK
  look_up(made->ncclCommCount, "ncclCommCount");
  look_up(made->ncclCommUserRank, "ncclCommUserRank");
  const LoadedRange range = range_of(function);
  made->low = range.low;
  made->high = range.high;
  made->alone = is_nccl_alone(function);
  return made;
}

// The NCCL that contains `function`; null if there are too many. Reads its symbols without the lock: the loader has its
// own lock, and our caller may hold it.
const TrueNccl* nccl_of(const void* function) {
  if (const TrueNccl* const known = known_by(function)) return known;
  std::unique_ptr<TrueNccl> made = read_nccl(function);
  const std::lock_guard<std::mutex> guard(lock);
  if (const TrueNccl* const known = known_by(function)) return known;
  for (std::atomic<const TrueNccl*>& place : detail::nccls) {
    if (made == nullptr || place.load() != nullptr) continue;
    place.store(made.get(), std::memory_order_release);
    return made.release();  // for the life of the process
  }
  return nullptr;
}

const void* in_scope_of(const void* caller) {
  void* const object = handle_of(caller);
  const void* const found = object != nullptr ? true_dlsym(object, kInEveryNccl) : nullptr;
  if (object != nullptr) (void)dlclose(object);
  return found;
}

// Last resort: the NCCL in the program's scope, or one loaded under its usual name.
const void* anywhere() {
  if (const void* const found = true_dlsym(RTLD_DEFAULT, kInEveryNccl)) return found;
  void* const usual = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  return usual != nullptr ? true_dlsym(usual, kInEveryNccl) : nullptr;
}

void say_none() {
  static constinit std::atomic<bool> said{false};
  if (!said.exchange(true)) say("NCCL: a function was called, but no NCCL is loaded");
}

void say_second() {
  static constinit std::atomic<bool> said{false};
  if (!said.exchange(true)) say("NCCL: calls to a second NCCL in this process are not intercepted");
}

const TrueNccl* known_for(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  const int count = caller_count.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (address >= callers[i].range.low && address < callers[i].range.high) return callers[i].nccl;
  }
  return nullptr;
}

const TrueNccl* find_for(const void* caller) {
  const void* function = in_scope_of(caller);
  const TrueNccl* const pointed = by_pointer.load();
  if (function == nullptr && pointed == nullptr) function = anywhere();
  const TrueNccl* const nccl = function != nullptr ? nccl_of(function) : pointed;
  if (nccl == nullptr) return nullptr;
  const LoadedRange range = range_of(caller);
  const std::lock_guard<std::mutex> guard(lock);
  const int count = caller_count.load();
  if (count < kMostCallers && known_for(caller) == nullptr) {
    callers[count] = {range, nccl};
    caller_count.store(count + 1, std::memory_order_release);
  }
  return nccl;
}

}  // namespace

const TrueNccl* nccl_for(const void* caller) {
  if (const TrueNccl* const known = known_for(caller)) return known;
  const TrueNccl* const nccl = find_for(caller);
  if (nccl == nullptr) say_none();
  return nccl;
}

void* nccl_hook(const char* name, const void* found) {
  for (const Hooked& hook : kNcclHooks) {
    if (!same_text(hook.name, name)) continue;
    if (found == nullptr || found == hook.function) return nullptr;
    const TrueNccl* const nccl = nccl_of(found);
    if (nccl == nullptr) return nullptr;
    const TrueNccl* first = nullptr;
    if (by_pointer.compare_exchange_strong(first, nccl) || first == nccl) return hook.function;
    say_second();
    return nullptr;
  }
  return nullptr;
}

}  // namespace tessera::preload
