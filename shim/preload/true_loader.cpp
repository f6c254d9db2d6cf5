#include "true_loader.hpp"

#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>

#include "bare_text.hpp"

namespace tessera::preload {
namespace {

using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);

struct SymbolTable {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
};

// The target of a dynamic entry. glibc relocates these in memory; some loaders do not.
template <class T>
const T* at(const link_map& object, ElfW(Addr) value) {
  return reinterpret_cast<const T*>(value < object.l_addr ? object.l_addr + value : value);
}

SymbolTable symbol_table(const link_map& object) {
  SymbolTable table;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) table.symbols = at<ElfW(Sym)>(object, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) table.names = at<char>(object, entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) {
      table.gnu_hash = at<std::uint32_t>(object, entry->d_un.d_ptr);
    }
  }
  return table;
}

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

// The GNU hash table: four header words, a Bloom filter (not needed for a single look-up), buckets, chains.
const ElfW(Sym) * look_up(const SymbolTable& table, const char* name) {
  if (table.symbols == nullptr || table.names == nullptr || table.gnu_hash == nullptr) {
    return nullptr;
  }
  const std::uint32_t bucket_count = table.gnu_hash[0];
  const std::uint32_t first_symbol = table.gnu_hash[1];
  const std::uint32_t filter_words = table.gnu_hash[2];
  const std::uint32_t* const buckets = table.gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const chains = buckets + bucket_count;
  const std::uint32_t hash = gnu_hash_of(name);
  std::uint32_t index = bucket_count != 0 ? buckets[hash % bucket_count] : 0;
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t link = chains[index - first_symbol];
    const ElfW(Sym)& symbol = table.symbols[index];
    const bool same =
        (link | 1u) == (hash | 1u) && symbol.st_shndx != SHN_UNDEF && same_text(table.names + symbol.st_name, name);
    if (same) return &symbol;
    if ((link & 1u) != 0) return nullptr;
  }
}

// glibc 2.34 moved both functions from libdl.so.2 into libc.so.6.
bool is_c_library(const char* path) {
  const char* const file = file_name(path);
  return same_text(file, "libc.so.6") || same_text(file, "libdl.so.2");
}

// Walks the list of loaded objects without the loader's lock: the C library is present from the start, near the head of
// the list, and never removed.
void* find(const char* name) {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_name == nullptr || !is_c_library(object->l_name)) continue;
    const ElfW(Sym)* const symbol = look_up(symbol_table(*object), name);
    if (symbol != nullptr) return reinterpret_cast<void*>(object->l_addr + symbol->st_value);
  }
  return nullptr;
}

void* find_once(std::atomic<void*>& known, const char* name) {
  if (void* const before = known.load(std::memory_order_acquire)) return before;
  void* const found = find(name);
  known.store(found, std::memory_order_release);
  return found;
}

constinit std::atomic<void*> known_dlsym{nullptr};
constinit std::atomic<void*> known_dlvsym{nullptr};

}  // namespace

void* true_dlsym(void* handle, const char* name) {
  const auto function = reinterpret_cast<DlsymFunction>(tessera_preload_true_dlsym());
  return function != nullptr ? function(handle, name) : nullptr;
}

void* true_dlvsym(void* handle, const char* name, const char* version) {
  const auto function = reinterpret_cast<DlvsymFunction>(tessera_preload_true_dlvsym());
  return function != nullptr ? function(handle, name, version) : nullptr;
}

}  // namespace tessera::preload

void* tessera_preload_true_dlsym() { return tessera::preload::find_once(tessera::preload::known_dlsym, "dlsym"); }

void* tessera_preload_true_dlvsym() { return tessera::preload::find_once(tessera::preload::known_dlvsym, "dlvsym"); }
