// mapping.h: validate, forward, translate the error.
#include "tessera/mapping.h"

#include "api/call.hpp"
#include "api/handles.hpp"
#include "base/page_class.hpp"

namespace tessera {
namespace {

static_assert(TESSERA_MAPPABLE_PAGE == kBasePage.value());

Status check_device(const tessera_allocator* allocator, int device, const tessera_address* address) {
  if (allocator == nullptr || address == nullptr) return null_argument("allocator and address");
  if (device < 0) return Status(Code::kInvalidArgument, "a device number must be 0 or greater");
  return {};
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_addresses_reserve(tessera_allocator* allocator, int device, size_t bytes,
                                         tessera_address* address) {
  return api_call([&]() -> Status {
    TESSERA_TRY(check_device(allocator, device, address));
    const DeviceId on(static_cast<std::uint64_t>(device));
    TESSERA_TRY_ASSIGN(const Address start, allocator->allocator->mappable().reserve(on, Bytes(bytes)));
    *address = start.value();
    return {};
  });
}

tessera_result tessera_addresses_release(tessera_allocator* allocator, tessera_address address) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->mappable().unreserve(Address(address));
  });
}

tessera_result tessera_mappable_create(tessera_allocator* allocator, int device, size_t bytes,
                                       tessera_address* address) {
  return api_call([&]() -> Status {
    TESSERA_TRY(check_device(allocator, device, address));
    const DeviceId on(static_cast<std::uint64_t>(device));
    TESSERA_TRY_ASSIGN(const Address block, allocator->allocator->mappable().create(on, Bytes(bytes)));
    *address = block.value();
    return {};
  });
}

tessera_result tessera_mappable_destroy(tessera_allocator* allocator, tessera_address address) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->mappable().destroy(Address(address));
  });
}

tessera_result tessera_mappable_move(tessera_allocator* allocator, tessera_address address, tessera_address to,
                                     tessera_address* now) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || now == nullptr) return null_argument("allocator and now");
    std::optional<Address> target;
    if (to != 0) target = Address(to);
    TESSERA_TRY_ASSIGN(const Address moved, allocator->allocator->mappable().move(Address(address), target));
    *now = moved.value();
    return {};
  });
}

}  // extern "C"
