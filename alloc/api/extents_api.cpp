// extents.h, and the call of interpose.h that takes ranges.
#include "tessera/extents.h"

#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "api/call.hpp"
#include "api/handles.hpp"
#include "api/use_handle.hpp"
#include "tessera/interpose.h"

namespace tessera {
namespace {

// As span_of() in c_api.cpp: the same words under another name.
std::span<const Address> addresses_of(const tessera_address* addresses, std::size_t count) {
  return {reinterpret_cast<const Address*>(addresses), count};
}
std::span<const AddressRange> span_of(const tessera_range* ranges, std::size_t count) {
  static_assert(sizeof(AddressRange) == sizeof(tessera_range) && alignof(AddressRange) == alignof(tessera_range));
  return {reinterpret_cast<const AddressRange*>(ranges), count};
}

Status begin_ranges(tessera_allocator* allocator, const tessera_range* ranges, std::size_t count, tessera_stream stream,
                    tessera_access access, Use::Kind kind, const char* name, tessera_use* use) {
  if (allocator == nullptr || use == nullptr) return null_argument("allocator and use");
  if (ranges == nullptr && count != 0) return null_argument("ranges");
  AnnouncedUse announced;
  TESSERA_TRY(allocator->allocator->uses().begin(span_of(ranges, count), stream_id(stream), access_of(access), kind,
                                                 name, announced));
  pack_use(std::move(announced), use);
  return {};
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_extents_set(tessera_allocator* allocator, tessera_address address, const tessera_extent* extents,
                                   size_t count) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    if (extents == nullptr && count != 0) return null_argument("extents");
    if (count > Extents::kMost) {
      return Status(Code::kInvalidArgument, fmt::format("{} extents exceed the limit of {}", count, Extents::kMost));
    }
    std::vector<Extent> list;
    list.reserve(count);
    for (std::size_t i = 0; i < count; ++i) list.push_back({Bytes(extents[i].offset), Bytes(extents[i].bytes)});
    return allocator->allocator->hints().set_extents(Address(address), std::move(list));
  });
}

tessera_result tessera_extents_add(tessera_allocator* allocator, const tessera_range* objects, size_t count) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    if (objects == nullptr && count != 0) return null_argument("objects");
    return allocator->allocator->hints().add_extents(span_of(objects, count));
  });
}

tessera_result tessera_extents_remove(tessera_allocator* allocator, const tessera_address* addresses, size_t count) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    if (addresses == nullptr && count != 0) return null_argument("addresses");
    allocator->allocator->hints().remove_extents(addresses_of(addresses, count));
    return {};
  });
}

tessera_result tessera_extents_keep_whole(tessera_allocator* allocator, tessera_address address) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->hints().keep_whole(Address(address));
  });
}

tessera_result tessera_use_begin_ranges(tessera_allocator* allocator, const tessera_range* ranges, size_t count,
                                        tessera_stream stream, tessera_access access, tessera_use* use) {
  return api_call([&]() -> Status {
    if (count > kMaxUseAddresses) {
      return Status(Code::kInvalidArgument, fmt::format("more than {} ranges", kMaxUseAddresses));
    }
    return begin_ranges(allocator, ranges, count, stream, access, Use::Kind::kGate, "", use);
  });
}

tessera_result tessera_use_begin_blocking_ranges(tessera_allocator* allocator, const tessera_range* ranges,
                                                 size_t count, tessera_stream stream, tessera_access access,
                                                 tessera_use* use) {
  return api_call([&]() -> Status {
    return begin_ranges(allocator, ranges, count, stream, access, Use::Kind::kHold, "copy", use);
  });
}

}  // extern "C"
