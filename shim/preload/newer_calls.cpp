#include "newer_calls.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "careful_reader.hpp"
#include "hook_table.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"

extern "C" {
extern const char tessera_preload_newer_entries[];  // NOLINT(readability-identifier-naming)
// NOLINTNEXTLINE(readability-identifier-naming)
extern const char tessera_preload_reviewed_names[], tessera_preload_reviewed_names_end[];
}

namespace tessera::preload {
namespace {

constexpr std::size_t kEntryBytes = 32;
constexpr std::size_t kArguments = 6;      // in registers
constexpr std::size_t kWordsLookedAt = 4;  // reading more would take unrelated memory beside a variable for the
                                           // argument

struct Watched {
  std::atomic<void*> function{nullptr};
  std::array<char, 64> name{};
  Watch watch = Watch::kAddresses;
  std::atomic<bool> said{false};
  std::atomic<std::uint32_t> calls{0};
};

constinit std::array<Watched, kMostWatched> all_watched{};
constinit std::mutex watched_lock;

void* entry_of(std::size_t index) { return const_cast<char*>(tessera_preload_newer_entries + index * kEntryBytes); }

// A name in its ABI form: cuMemAlloc with number 2 for cuMemAlloc_v2.
struct Form {
  std::string_view base;
  int number = 1;
};

Form form_of(std::string_view name) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  const std::size_t version = name.rfind("_v");
  if (version == std::string_view::npos || version + 2 == name.size()) return {name};
  int number = 0;
  for (const char digit : name.substr(version + 2)) {
    if (digit < '0' || digit > '9' || number > 99) return {name};
    number = 10 * number + (digit - '0');
  }
  return {name.substr(0, version), number};
}

// In entry_points.txt each name is followed by an @ and preceded by a space or the beginning of a line.
bool is_reviewed(std::string_view base) {
  const std::string_view text(
      tessera_preload_reviewed_names,
      static_cast<std::size_t>(tessera_preload_reviewed_names_end - tessera_preload_reviewed_names));
  for (std::size_t at = text.find(base); at != std::string_view::npos; at = text.find(base, at + 1)) {
    const std::size_t end = at + base.size();
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    if (begins && end < text.size() && text[end] == '@') return true;
  }
  return false;
}

// Functions of headers other than cuda.h; none of them takes a device address.
bool is_of_harmless_header(std::string_view base) {
  constexpr std::array<std::string_view, 3> kPrefixes = {"cuProfiler", "cuGL", "cuVDPAU"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [base](std::string_view prefix) { return base.starts_with(prefix); });
}

bool is_in_heap(std::uint64_t word) { return managed(word); }

// Used rarely: it makes system calls.
bool points_to_address(const std::uint64_t* arguments) {
  const CarefulReader reader;
  if (!reader.is_open()) return false;
  for (std::size_t i = 0; i < kArguments; ++i) {
    std::array<std::uint64_t, kWordsLookedAt> words{};
    const auto* const from = std::bit_cast<const void*>(arguments[i]);
    const std::size_t got = reader.read(from, reinterpret_cast<char*>(words.data()), sizeof(words));
    if (std::any_of(words.begin(), words.begin() + got / sizeof(std::uint64_t), is_in_heap)) return true;
  }
  return false;
}

// The memory that arguments point to is examined in the first call, the second, the fourth, and so on.
bool is_given_address(Watched& watched, const std::uint64_t* arguments) {
  if (!has_heap()) return false;
  if (watched.watch == Watch::kAllCalls) return true;
  if (std::any_of(arguments, arguments + kArguments, is_in_heap)) return true;
  return std::has_single_bit(watched.calls.fetch_add(1, std::memory_order_relaxed) + 1) && points_to_address(arguments);
}

}  // namespace

void* watch_newer(const char* symbol, void* function, Watch watch) {
  const std::lock_guard<std::mutex> lock(watched_lock);
  for (std::size_t i = 0; i < kMostWatched; ++i) {
    Watched& place = all_watched[i];
    void* const there = place.function.load(std::memory_order_acquire);
    if (there == function) return entry_of(i);
    if (there != nullptr) continue;
    for (std::size_t c = 0; c + 1 < place.name.size() && symbol[c] != '\0'; ++c) place.name[c] = symbol[c];
    place.watch = watch;
    place.function.store(function, std::memory_order_release);
    return entry_of(i);
  }
  static constinit std::atomic<bool> said{false};
  if (!said.exchange(true))
    say("%s and others are newer than this library: their use of memory is not tracked", symbol);
  return function;
}

bool is_known_name(const char* symbol) {
  const Form form = form_of(symbol);
  const int newest = newest_form_of_hook(form.base);
  return newest != 0 ? form.number <= newest : is_of_harmless_header(form.base) || is_reviewed(form.base);
}

bool is_form_of_hook(const char* symbol) { return newest_form_of_hook(form_of(symbol).base) != 0; }

int form_number(std::string_view name, std::string_view base) {
  const Form form = form_of(name);
  return form.base == base ? form.number : 0;
}

}  // namespace tessera::preload

// Called by each entry with its arguments; returns the function to jump to.
extern "C" __attribute__((visibility("hidden"))) void* tessera_preload_newer_called(std::size_t index,
                                                                                    const std::uint64_t* arguments) {
  using namespace tessera::preload;
  Watched& watched = all_watched[index];
  void* const function = watched.function.load(std::memory_order_acquire);
  if (watched.said.load(std::memory_order_relaxed)) return function;
  const int error = errno;
  const Entry entry;
  if (!entry.nested() && is_given_address(watched, arguments) && !watched.said.exchange(true)) {
    say("%s is newer than this library and may use managed memory: such use is not tracked", watched.name.data());
  }
  errno = error;
  return function;
}
