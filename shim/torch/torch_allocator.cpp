#include "torch_allocator.h"

#include <atomic>
#include <cstdio>
#include <new>
#include <utility>
#include <vector>

#include "graph_pool_hooks.hpp"
#include "operator_bracket.hpp"
#include "program_error.h"
#include "recorded_streams.hpp"

using namespace tessera::torch;  // the functions below are C and can live in no namespace

namespace {

constexpr int kMostLines = 20;

// Lives as long as the process: tensors are freed after static objects were destroyed.
RecordedStreams& recorded() {
  static auto* const streams = new RecordedStreams;
  return *streams;
}

GraphPools& pools() {
  static auto* const all = new GraphPools;
  return *all;
}

// Bounded, because a program may fail at every free.
void say(const char* call, const char* text) {
  static constinit std::atomic<int> lines{0};
  const int before = lines.fetch_add(1);
  if (before < kMostLines) std::fprintf(stderr, "tessera: %s: %s\n", call, text);
  if (before == kMostLines) std::fputs("tessera: further messages are suppressed\n", stderr);
}

tessera_address address_of(const void* pointer) { return reinterpret_cast<tessera_address>(pointer); }

// The error message that PyTorch gets for a failed allocation; valid in this thread until its next one.
const char* text_of(tessera_result result) {
  static thread_local char text[2112];
  const char* const kind = result == TESSERA_OUT_OF_MEMORY ? "CUDA out of memory. " : "";
  std::snprintf(text, sizeof(text), "%sTessera: %s", kind, tessera_last_error());
  return text;
}

// For calls that cannot return an error: null, after printing a line.
tessera_allocator* shared_or_say(const char* call) {
  tessera_allocator* allocator = nullptr;
  if (tessera_shared(&allocator) == TESSERA_OK) return allocator;
  say(call, tessera_last_error());
  return nullptr;
}

void say_failure(tessera_result result, const char* call) {
  if (result != TESSERA_OK) say(call, tessera_last_error());
}

bool give_back_released(tessera_allocator* allocator) {
  return pools().give_back(
      [allocator](int device) {
        const tessera_result waited = tessera_synchronize(allocator, device);
        say_failure(waited, "release_pool");
        return waited == TESSERA_OK;
      },
      [allocator](tessera_address block) {
        say_failure(tessera_free(allocator, block, TESSERA_NO_STREAM), "release_pool");
      });
}

tessera_result allocate(tessera_allocator* allocator, int device, std::size_t bytes, tessera_stream stream,
                        tessera_address& address) {
  const tessera_result result = tessera_malloc(allocator, device, bytes, stream, &address);
  if (result != TESSERA_OUT_OF_MEMORY || !give_back_released(allocator)) return result;
  return tessera_malloc(allocator, device, bytes, stream, &address);
}

tessera_result allocate_in(const GraphPools::Key& pool, tessera_allocator* allocator, std::size_t bytes,
                           tessera_stream stream, tessera_address& address) {
  address = pools().take(pool, bytes, stream);
  if (address != 0) return TESSERA_OK;
  const tessera_result result = allocate(allocator, pool.device, bytes, stream, address);
  if (result != TESSERA_OK) return result;
  tessera_block_info info{};
  info.size = sizeof(info);
  const bool known = tessera_query(allocator, address, &info) == TESSERA_OK;
  pools().add(pool, address, known ? info.capacity : bytes, stream);
  return TESSERA_OK;
}

// Nothing may be recorded on a capturing stream.
void note_use(tessera_allocator* allocator, tessera_address block, tessera_stream stream) {
  if (pools().captures(stream)) return;
  say_failure(tessera_touch(allocator, block, stream, TESSERA_WRITE), "record_stream");
}

void* take(std::size_t bytes, int device, tessera_stream stream, const char** failure) {
  tessera_allocator* allocator = nullptr;
  tessera_address address = 0;
  tessera_result result = tessera_shared(&allocator);
  if (result == TESSERA_OK) {
    const auto pool = pools().serving(device, stream);
    result = pool ? allocate_in(*pool, allocator, bytes, stream, address)
                  : allocate(allocator, device, bytes, stream, address);
  }
  // Called again, so that the preload library learns the device's addresses.
  if (result == TESSERA_OK) result = tessera_shared(&allocator);
  if (result != TESSERA_OK) {
    *failure = text_of(result);
    return nullptr;
  }
  if (!in_operator()) return reinterpret_cast<void*>(address);
  if (keep_new_block(allocator, address) == TESSERA_OK) return reinterpret_cast<void*>(address);
  *failure = text_of(TESSERA_OUT_OF_MEMORY);
  if (!pools().keep(address, false)) {
    say_failure(tessera_free(allocator, address, stream), "malloc");
  }
  return nullptr;
}

}  // namespace

extern "C" {

void* tessera_torch_take(ssize_t size, int device, tessera_torch_stream stream, const char** failure) {
  *failure = nullptr;
  if (size <= 0) return nullptr;
  try {
    return take(static_cast<std::size_t>(size), device, stream, failure);
  } catch (const std::bad_alloc&) {
    *failure = "Tessera: out of host memory for bookkeeping";
    return nullptr;
  }
}

void tessera_torch_free(void* pointer, ssize_t, int, tessera_torch_stream stream) {
  if (pointer == nullptr) return;
  tessera_allocator* const allocator = shared_or_say("free");
  if (allocator == nullptr) return;
  const tessera_address address = address_of(pointer);
  if (in_operator()) let_go(allocator, address);
  std::vector<tessera_stream> streams = recorded().take(address);
  if (pools().keep(address, !streams.empty())) return;
  if (streams.empty()) return say_failure(tessera_free(allocator, address, stream), "free");
  streams.push_back(stream);
  say_failure(tessera_free_after(allocator, address, streams.data(), streams.size()), "free");
}

void tessera_torch_reset(void) {
  if (tessera_allocator* const allocator = shared_or_say("empty_cache")) {
    (void)give_back_released(allocator);
    say_failure(tessera_trim(allocator), "empty_cache");
  }
}

void tessera_torch_memory_fraction(double, int) {
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  say("set_per_process_memory_fraction", "not supported; set the option device-memory instead");
}

void* tessera_torch_base_alloc(void* pointer, size_t* size) {
  tessera_block_info info{};
  info.size = sizeof(info);
  tessera_allocator* const allocator = shared_or_say("base_alloc");
  if (allocator == nullptr) return pointer;
  if (tessera_query(allocator, address_of(pointer), &info) != TESSERA_OK) return pointer;
  say_failure(tessera_expose(allocator, info.address, "PyTorch getBaseAllocation"), "base_alloc");
  if (size != nullptr) *size = info.capacity;
  return reinterpret_cast<void*>(info.address);
}

void tessera_torch_record_stream(void* pointer, tessera_torch_stream stream) {
  tessera_allocator* const allocator = shared_or_say("record_stream");
  tessera_block_info info{};
  info.size = sizeof(info);
  if (allocator == nullptr) return;
  if (tessera_query(allocator, address_of(pointer), &info) != TESSERA_OK) return;
  recorded().add(info.address, stream);
  note_use(allocator, info.address, stream);
}

void tessera_torch_begin_pool(int device, PoolId id, StreamFilter filter) {
  pools().begin({device, id}, std::move(filter));
}

void tessera_torch_end_pool(int device, PoolId id) { pools().end({device, id}); }

void tessera_torch_release_pool(int device, PoolId id) { pools().release({device, id}); }

tessera_result tessera_torch_begin(const tessera_address* addresses, size_t count, size_t written) {
  tessera_allocator* allocator = nullptr;
  if (addresses == nullptr && count != 0) return TESSERA_INVALID_ARGUMENT;
  const tessera_result result = tessera_shared(&allocator);
  return result == TESSERA_OK ? begin_operator(allocator, addresses, count, written) : result;
}

tessera_result tessera_torch_end(tessera_torch_stream stream) {
  tessera_allocator* allocator = nullptr;
  const tessera_result result = tessera_shared(&allocator);
  return result == TESSERA_OK ? end_operator(allocator, stream) : result;
}

}  // extern "C"
