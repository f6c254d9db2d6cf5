#include "torch_listener.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "lifecycle.hpp"
#include "outcome.hpp"
#include "tessera/torch_listener.h"

namespace tessera::preload {
namespace {

constexpr const char* kTorchLibrary = "/libc10_cuda.so";

constinit std::atomic<bool> is_settled{false};  // PyTorch was found, with a listener or without
constinit std::atomic<std::uint32_t> taken{0};
constinit std::mutex listener_lock;

// Guarded by listener_lock. Never destroyed: programs launch from exit handlers.
std::string& found_listener() {
  static std::string& path = *new std::string;
  return path;
}

int visit_for_torch(dl_phdr_info* object, std::size_t, void* found) {
  if (object->dlpi_name == nullptr || !std::string_view(object->dlpi_name).ends_with(kTorchLibrary)) return 0;
  *static_cast<std::string*>(found) = object->dlpi_name;
  return 1;
}

// A file of this user's, or of root's, that no other user can change.
bool is_trusted(const std::string& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  return (facts.st_uid == ::geteuid() || facts.st_uid == 0) && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string listener_folder() {
  tessera_options* options = nullptr;
  char folder[PATH_MAX] = "";
  const bool known = tessera_options_create(&options) == TESSERA_OK &&
                     tessera_options_get(options, "torch-listeners", folder, sizeof(folder)) == TESSERA_OK;
  tessera_options_destroy(options);
  return known && *folder == '/' ? folder : "";
}

// ---- what the listener calls. An addition that fails leaves the block one object, which is right, only slower.

void add_objects(const tessera_range* objects, std::size_t count) {
  tessera_allocator* const allocator = running();
  if (allocator == nullptr) return;
  const Entry entry;
  (void)tessera_extents_add(allocator, objects, count);
}

void remove_object(tessera_address address) {
  tessera_allocator* const allocator = running();
  if (allocator == nullptr) return;
  const Entry entry;
  (void)tessera_extents_remove(allocator, &address, 1);
}

void keep_whole(tessera_address address) {
  tessera_allocator* const allocator = running();
  if (allocator == nullptr) return;
  const Entry entry;
  (void)tessera_extents_keep_whole(allocator, address);  // it fails for what is not ours, which does not move
}

int is_captured(void* stream) {
  return capturing(stream == nullptr ? CU_STREAM_LEGACY : static_cast<CUstream>(stream)) ? 1 : 0;
}

constexpr tessera_torch_calls kCalls = {TESSERA_TORCH_LISTENER_INTERFACE, add_objects, remove_object, keep_whole,
                                        is_captured};

// Made from the file of PyTorch's CUDA library, as shim/python/tessera/_torch_listener.py makes it.
std::optional<std::string> listener_name(const std::string& library) {
  char real_path[PATH_MAX] = "";
  struct stat facts {};
  if (::realpath(library.c_str(), real_path) == nullptr || ::stat(real_path, &facts) != 0) return std::nullopt;
  const std::string real = real_path;
  const std::string identity = real + "\n" + std::to_string(facts.st_size) + "\n" +
                               std::to_string(facts.st_mtim.tv_sec) + "." + std::to_string(facts.st_mtim.tv_nsec);
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char letter : identity) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  char name[32];
  std::snprintf(name, sizeof(name), "%016llx-%d.so", static_cast<unsigned long long>(hash),
                TESSERA_TORCH_LISTENER_INTERFACE);
  return std::string(name);
}

}  // namespace

void look_for_torch() {
  if (is_settled.load(std::memory_order_relaxed)) return;
  if (!std::has_single_bit(taken.fetch_add(1, std::memory_order_relaxed) + 1)) return;
  std::string library;
  ::dl_iterate_phdr(visit_for_torch, &library);
  if (library.empty() || is_settled.exchange(true)) return;
  const std::string folder = listener_folder();
  const std::optional<std::string> name = listener_name(library);
  if (folder.empty() || !name) return;
  const std::string file = folder + "/" + *name;
  if (!is_trusted(file)) return;
  const std::lock_guard<std::mutex> lock(listener_lock);
  found_listener() = file;
  detail::launch_facts.torch_listener.store(true);
}

// One thread attaches. It stays loaded: PyTorch calls it from then on.
void attach_torch_listener(CUstream launched_on) {
  if (capturing(launched_on) || !detail::launch_facts.torch_listener.exchange(false)) return;
  std::string file;
  {
    const std::lock_guard<std::mutex> lock(listener_lock);
    file = found_listener();
  }
  void* const listener = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* const symbol = listener != nullptr ? ::dlsym(listener, "tessera_torch_listen") : nullptr;
  if (symbol == nullptr) {
    const char* const error = ::dlerror();
    say("PyTorch's segments move as a whole: %s", error != nullptr ? error : file.c_str());
    return;
  }
  switch (reinterpret_cast<tessera_torch_listen_function>(symbol)(&kCalls)) {
    case TESSERA_TORCH_ATTACHED:
    case TESSERA_TORCH_OTHER_ALLOCATOR:  // its tensors are blocks
      break;
    case TESSERA_TORCH_TOO_EARLY: is_settled.store(false); break;
    case TESSERA_TORCH_OTHER_INTERFACE:
      say("PyTorch's segments move as a whole: %s is for another version; build it again", file.c_str());
      break;
  }
}

}  // namespace tessera::preload
