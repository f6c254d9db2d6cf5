#include "unknown_work.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "careful_reader.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "parameter_words.hpp"

namespace tessera::preload {
namespace {

constexpr std::size_t kMostBytes = 32764;  // CUDA's limit for all parameters of a kernel together

void say_once(std::atomic<bool>& said, const char* line, const char* call) {
  if (!said.exchange(true)) say(line, call);
}

}  // namespace

// Each parameter has at least one byte, so parameter `i` has at most the limit minus i bytes. CUDA dereferences the
// pointer of each parameter, so the first pointer that cannot be read is past the end of the list.
bool scan_unknown(void** parameters, FoundWords& found) {
  static constinit std::atomic<bool> said{false};
  say_once(said,
           "%s: the driver does not report the kernel's parameter layout: all words near its parameters are treated as "
           "addresses",
           "cuLaunchKernel");
  const CarefulReader reader;
  std::vector<char> bytes(kMostBytes);
  if (!reader.is_open()) return false;
  for (std::size_t i = 0; i < kMostBytes; ++i) {
    const void* parameter = nullptr;
    char* const to = reinterpret_cast<char*>(&parameter);
    if (reader.read(parameters + i, to, sizeof(parameter)) != sizeof(parameter)) break;
    const std::size_t readable = reader.read(parameter, bytes.data(), kMostBytes - i);
    if (readable == 0) break;
    scan_parameter(bytes.data(), readable, found);
  }
  return true;
}

// The first pass, with eviction still possible, finds out whether all blocks fit. The second pass fetches the blocks
// evicted meanwhile.
CUresult hold_everything(const char* call) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested() || tessera_is_host_backed(allocator) != 0) return CUDA_SUCCESS;
  const InPrimary in_primary;
  const auto bring_all_in = [&] {
    tessera_moved moved{};
    moved.size = sizeof(moved);
    const CUresult woken = cuda_result_said(tessera_wake(allocator, nullptr, &moved), call);
    if (woken != CUDA_SUCCESS || moved.stayed_bytes == 0) return woken;
    say("%s: the blocks that it uses are unknown, and not all blocks fit in device memory", call);
    return CUDA_ERROR_OUT_OF_MEMORY;
  };
  if (const CUresult in = bring_all_in(); in != CUDA_SUCCESS) return in;
  const CUresult held = cuda_result_said(tessera_set_automatic(allocator, 0), call);
  if (held != CUDA_SUCCESS) return held;
  const CUresult in = bring_all_in();
  if (in != CUDA_SUCCESS) {
    (void)cuda_result_said(tessera_set_automatic(allocator, 1), call);
    return in;
  }
  static constinit std::atomic<bool> said{false};
  say_once(said, "%s: the blocks that it uses are unknown: from now on all blocks stay in device memory", call);
  return CUDA_SUCCESS;
}

}  // namespace tessera::preload
