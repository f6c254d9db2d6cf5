// Host allocators, the lower limit. They allocate host memory, which the workloads never touch.
#include <dlfcn.h>

#include <jemalloc/jemalloc.h>

#include "contender.hpp"

namespace tessera::bench {
namespace {

class Jemalloc final : public Contender {
 public:
  std::uint64_t allocate(Bytes bytes, unsigned) override {
    return reinterpret_cast<std::uint64_t>(je_malloc(bytes.value()));
  }
  void free(std::uint64_t address, unsigned) override {
    je_free(reinterpret_cast<void*>(address));  // NOLINT: it came from there
  }
  std::optional<Bytes> reserved() const override {
    std::uint64_t epoch = 1;
    std::size_t active = 0, size = sizeof(active);
    if (je_mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch)) != 0) return std::nullopt;
    if (je_mallctl("stats.active", &active, &size, nullptr, 0) != 0) return std::nullopt;
    return Bytes(active);
  }
};

// Loaded at run time with local symbols: if it were linked, it would replace this program's malloc.
class Mimalloc final : public Contender {
 public:
  explicit Mimalloc(void* library)
      : malloc_(reinterpret_cast<Malloc*>(::dlsym(library, "mi_malloc"))),
        free_(reinterpret_cast<Free*>(::dlsym(library, "mi_free"))) {}

  bool is_whole() const { return malloc_ != nullptr && free_ != nullptr; }
  std::uint64_t allocate(Bytes bytes, unsigned) override {
    return reinterpret_cast<std::uint64_t>(malloc_(bytes.value()));
  }
  void free(std::uint64_t address, unsigned) override {
    free_(reinterpret_cast<void*>(address));  // NOLINT: it came from there
  }

 private:
  using Malloc = void*(std::size_t);
  using Free = void(void*);
  Malloc* const malloc_;
  Free* const free_;
};

}  // namespace

std::unique_ptr<Contender> make_jemalloc() { return std::make_unique<Jemalloc>(); }

std::unique_ptr<Contender> make_mimalloc() {
  void* const library = ::dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL);  // never closed
  if (library == nullptr) return nullptr;
  auto contender = std::make_unique<Mimalloc>(library);
  if (!contender->is_whole()) return nullptr;
  return contender;
}

}  // namespace tessera::bench
