// host.h, and what interpose.h has beside it.
#include "tessera/host.h"

#include "api/call.hpp"
#include "api/copy_out.hpp"
#include "api/handles.hpp"
#include "tessera/interpose.h"

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_host_malloc(tessera_allocator* allocator, size_t bytes, void** memory) {
  return tessera_host_malloc_marked(allocator, bytes, 0, memory);
}

tessera_result tessera_host_malloc_marked(tessera_allocator* allocator, size_t bytes, uint32_t mark, void** memory) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || memory == nullptr) return null_argument("allocator and memory");
    if (bytes == 0) return Status(Code::kInvalidArgument, "bytes must be greater than 0");
    TESSERA_TRY_ASSIGN(*memory, allocator->allocator->host_memory().allocate(Bytes(bytes), mark));
    return {};
  });
}

tessera_result tessera_host_free(tessera_allocator* allocator, void* memory) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || memory == nullptr) return null_argument("allocator and memory");
    return allocator->allocator->host_memory().free(memory);
  });
}

tessera_result tessera_host_query(tessera_allocator* allocator, const void* address, tessera_host_info* info) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || info == nullptr) return null_argument("allocator and info");
    const auto block = allocator->allocator->host_memory().find(address);
    if (!block) return Status(Code::kNotFound, "no live block of pinned host memory contains the address");
    tessera_host_info found{};
    found.mark = block->mark;
    found.start = reinterpret_cast<void*>(block->start);
    found.bytes = block->bytes.value();
    found.generation = block->id;
    return copy_out_struct(found, info, "info");
  });
}

void tessera_host_range(tessera_allocator* allocator, const void** low, const void** high) {
  if (allocator == nullptr || low == nullptr || high == nullptr) return;
  const auto [first, end] = allocator->allocator->host_memory().range();
  *low = reinterpret_cast<const void*>(first);
  *high = reinterpret_cast<const void*>(end);
}

tessera_result tessera_host_yield(tessera_allocator* allocator, uint64_t* yielded) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || yielded == nullptr) return null_argument("allocator and yielded");
    TESSERA_TRY_ASSIGN(const Bytes bytes, allocator->allocator->driver_memory().yield_host());
    *yielded = bytes.value();
    return {};
  });
}

void tessera_host_end(tessera_allocator* allocator) {
  if (allocator != nullptr) allocator->allocator->host_memory().end();
}

void tessera_note_beside(tessera_allocator* allocator, tessera_beside kind, uint64_t bytes) {
  if (allocator == nullptr || static_cast<unsigned>(kind) >= TESSERA_BESIDE_KINDS) return;
  allocator->allocator->host_memory().note_beside(kind, Bytes(bytes));
}

}  // extern "C"
