// interpose.h: what the preload library needs beyond tessera.h.
#include "tessera/interpose.h"

#include <algorithm>
#include <vector>

#include "api/budgets.hpp"
#include "api/call.hpp"
#include "api/handles.hpp"
#include "api/use_handle.hpp"

namespace tessera {
namespace {

// Every naturally aligned word, taken as an address. One compare rejects those outside the heap, so only pointers pay
// for a look-up.
std::span<const Address> words_of(const void* begin, std::size_t bytes) {
  static_assert(sizeof(Address) == sizeof(std::uint64_t));
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t skipped = (0 - at) % sizeof(Address);
  if (bytes < skipped + sizeof(Address)) return {};
  return {reinterpret_cast<const Address*>(at + skipped), (bytes - skipped) / sizeof(Address)};
}

// Words that do not point into a live block name none.
void begin_unnamed_if_none(UnnamedUses& uses, StreamId stream, const char* name, AnnouncedUse& use) {
  if (use.heap == nullptr && use.held.empty() && use.gates == 0) uses.begin(std::nullopt, stream, name, use);
}

Result<DeviceId> device_id(int device) {
  if (device < 0) return Status(Code::kInvalidArgument, "a device number must be 0 or greater");
  return DeviceId(static_cast<std::uint64_t>(device));
}

tessera_result tell_memory(tessera_allocator* allocator, int device, std::uint64_t* free, std::uint64_t* total,
                           Result<MemoryInfo> (MemoryQueries::*ask)(DeviceId)) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || free == nullptr || total == nullptr) {
      return null_argument("allocator, free_bytes and total_bytes");
    }
    TESSERA_TRY_ASSIGN(const DeviceId id, device_id(device));
    TESSERA_TRY_ASSIGN(const MemoryInfo info, (allocator->allocator->memory().*ask)(id));
    *free = info.free.value();
    *total = info.total.value();
    return {};
  });
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_options_set_resolver(tessera_options* options, tessera_resolver resolver, void* user) {
  return api_call([&]() -> Status {
    if (options == nullptr || resolver == nullptr) return null_argument("options and resolver");
    options->resolver = [resolver, user](const char* name) { return resolver(name, user); };
    return {};
  });
}

void tessera_managed_range(tessera_allocator* allocator, tessera_address* low, tessera_address* high) {
  if (allocator == nullptr || low == nullptr || high == nullptr) return;
  const auto [first, end] = allocator->allocator->heaps().managed_range();
  *low = first.value();
  *high = end.value();
}

int tessera_manages(tessera_allocator* allocator, tessera_address address) {
  return allocator != nullptr && allocator->allocator->heaps().manages(Address(address)) ? 1 : 0;
}

tessera_result tessera_use_begin_words(tessera_allocator* allocator, const void* words, size_t bytes,
                                       tessera_stream stream, const char* name, tessera_use* use) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || use == nullptr) return null_argument("allocator and use");
    if (words == nullptr && bytes != 0) return null_argument("words");
    Allocator& all = *allocator->allocator;
    all.heaps().expect_unseen_work();
    AnnouncedUse announced;
    announced.refuses_strays = true;
    TESSERA_TRY(
        all.uses().begin(words_of(words, bytes), stream_id(stream), Access::kWrite, Use::Kind::kGate, name, announced));
    begin_unnamed_if_none(all.unnamed_uses(), stream_id(stream), name, announced);
    pack_use(std::move(announced), use);
    return {};
  });
}

void tessera_note_handed(tessera_allocator* allocator, const tessera_address* addresses, size_t count) {
  if (allocator == nullptr || addresses == nullptr) return;
  allocator->allocator->uses().note_unshown({reinterpret_cast<const Address*>(addresses), count});
}

void tessera_expect_waiting(tessera_allocator* allocator, const char* name) {
  if (allocator != nullptr && name != nullptr) allocator->allocator->heaps().expect_waiting(name);
}

tessera_result tessera_use_begin_unnamed(tessera_allocator* allocator, int device, tessera_stream stream,
                                         const char* name, tessera_use* use) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || use == nullptr) return null_argument("allocator and use");
    std::optional<DeviceId> on;
    if (device >= 0) on = DeviceId(static_cast<std::uint64_t>(device));
    AnnouncedUse announced;
    allocator->allocator->unnamed_uses().begin(on, stream_id(stream), name, announced);
    pack_use(std::move(announced), use);
    return {};
  });
}

tessera_result tessera_use_begin_graded(tessera_allocator* allocator, const tessera_address* words, size_t certain,
                                        size_t likely, size_t maybe, tessera_stream stream, const char* name,
                                        tessera_use* use) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || use == nullptr) return null_argument("allocator and use");
    const std::size_t count = certain + likely + maybe;
    if (words == nullptr && count != 0) return null_argument("words");
    const auto* const first = reinterpret_cast<const Address*>(words);
    Allocator& all = *allocator->allocator;
    all.heaps().expect_unseen_work();
    AnnouncedUse announced;
    announced.refuses_strays = true;
    TESSERA_TRY(all.graded_uses().begin(GradedAddresses{{first, count}, certain, likely}, stream_id(stream),
                                        Access::kWrite, name, announced));
    begin_unnamed_if_none(all.unnamed_uses(), stream_id(stream), name, announced);
    pack_use(std::move(announced), use);
    return {};
  });
}

int tessera_is_host_backed(tessera_allocator* allocator) {
  return allocator != nullptr && allocator->allocator->unnamed_uses().guards_all_work() ? 1 : 0;
}

tessera_result tessera_use_begin_blocking(tessera_allocator* allocator, const tessera_address* addresses, size_t count,
                                          tessera_stream stream, tessera_access access, tessera_use* use) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || use == nullptr) return null_argument("allocator and use");
    if (addresses == nullptr && count != 0) return null_argument("addresses");
    std::vector<Address> list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(Address(addresses[i]));
    AnnouncedUse announced;
    TESSERA_TRY(allocator->allocator->uses().begin(list, stream_id(stream), access_of(access), Use::Kind::kHold, "copy",
                                                   announced));
    pack_use(std::move(announced), use);
    return {};
  });
}

tessera_result tessera_set_outside(tessera_allocator* allocator, const tessera_outside* outside) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || outside == nullptr) return null_argument("allocator and outside");
    if (outside->size < sizeof(tessera_outside)) return Status(Code::kInvalidArgument, "outside->size is not set");
    if (outside->kind == nullptr || outside->remedy == nullptr || outside->first_call == nullptr) {
      return null_argument("kind, remedy and first_call");
    }
    TESSERA_TRY_ASSIGN(const DeviceId device, device_id(outside->device));
    allocator->allocator->stats().set_outside(
        {device, outside->kind, outside->remedy, outside->first_call, Bytes(outside->bytes), outside->imported != 0});
    return {};
  });
}

tessera_result tessera_placeholders_begin(tessera_allocator* allocator, const tessera_address* addresses,
                                          size_t count) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    if (addresses == nullptr && count != 0) return null_argument("addresses");
    return allocator->allocator->heaps().cover(words_of(addresses, count * sizeof(*addresses)));
  });
}

void tessera_placeholders_end(tessera_allocator* allocator) {
  if (allocator != nullptr) allocator->allocator->heaps().uncover();
}

tessera_result tessera_expose(tessera_allocator* allocator, tessera_address address, const char* reason) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || reason == nullptr) return null_argument("allocator and reason");
    return allocator->allocator->pins().expose(Address(address), reason);
  });
}

tessera_result tessera_keep(tessera_allocator* allocator, tessera_address address, const char* reason) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || reason == nullptr) return null_argument("allocator and reason");
    return allocator->allocator->pins().keep(Address(address), reason);
  });
}

tessera_result tessera_unkeep(tessera_allocator* allocator, tessera_address address) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->pins().unkeep(Address(address));
  });
}

tessera_result tessera_retire_stream(tessera_allocator* allocator, tessera_stream stream) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->streams().retire(stream_id(stream));
  });
}

uint64_t tessera_before_wait(tessera_allocator* allocator, int device) {
  if (allocator == nullptr || device < 0) return 0;
  return allocator->allocator->streams().before_wait(DeviceId(static_cast<std::uint64_t>(device)));
}

void tessera_note_waited(tessera_allocator* allocator, int device, tessera_stream stream, uint64_t before) {
  if (allocator == nullptr || device < 0) return;
  const StreamId waited_for = stream_id(stream);
  allocator->allocator->streams().note_waited(DeviceId(static_cast<std::uint64_t>(device)),
                                              waited_for == kNoStream ? std::nullopt : std::optional(waited_for),
                                              before);
}

void tessera_use_end_over(tessera_allocator* allocator, tessera_use* use) {
  if (allocator == nullptr || use == nullptr) return;
  AnnouncedUse announced = unpack_use(use);
  announced.stream = kNoStream;
  allocator->allocator->uses().end(announced);
}

tessera_result tessera_synchronize(tessera_allocator* allocator, int device) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    if (device < 0) return Status(Code::kInvalidArgument, "a device number must be 0 or greater");
    return allocator->allocator->streams().synchronize(DeviceId(static_cast<std::uint64_t>(device)));
  });
}

tessera_result tessera_memory_info(tessera_allocator* allocator, int device, uint64_t* free_bytes,
                                   uint64_t* total_bytes) {
  return tell_memory(allocator, device, free_bytes, total_bytes, &MemoryQueries::info);
}

tessera_result tessera_memory_beside(tessera_allocator* allocator, int device, uint64_t* free_bytes,
                                     uint64_t* total_bytes) {
  return tell_memory(allocator, device, free_bytes, total_bytes, &MemoryQueries::beside);
}

tessera_result tessera_options_device_budget(const tessera_options* options, int device, uint64_t free_bytes,
                                             uint64_t total_bytes, uint64_t* budget) {
  return api_call([&]() -> Status {
    if (options == nullptr || budget == nullptr) return null_argument("options and budget");
    TESSERA_TRY_ASSIGN(const DeviceId id, device_id(device));
    TESSERA_TRY(options->options.validate());
    if (options->options.off) return Status(Code::kNotSupported, "off");
    if (options->options.report_memory == "virtual") return Status(Code::kNotSupported, "report-memory is virtual");
    TESSERA_TRY_ASSIGN(const std::vector<Loan> loans, peer_loans(options->options));
    Bytes free(free_bytes);
    for (const Loan& loan : loans) {
      if (loan.lender == id) free -= std::min(free, loan.bytes);
    }
    *budget = device_budget(options->options, {free, Bytes(total_bytes)}).value();
    return {};
  });
}

tessera_result tessera_yield_begin(tessera_allocator* allocator, int device, uint64_t wanted, uint64_t* yielded) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || yielded == nullptr) return null_argument("allocator and yielded");
    *yielded = 0;
    TESSERA_TRY_ASSIGN(const DeviceId id, device_id(device));
    TESSERA_TRY_ASSIGN(const Bytes bytes, allocator->allocator->driver_memory().begin_yield(id, Bytes(wanted)));
    *yielded = bytes.value();
    return {};
  });
}

tessera_result tessera_yield_end(tessera_allocator* allocator, int device) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    TESSERA_TRY_ASSIGN(const DeviceId id, device_id(device));
    allocator->allocator->driver_memory().end_yield(id);
    return {};
  });
}

tessera_result tessera_trim_device(tessera_allocator* allocator, int device, uint64_t keep) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    TESSERA_TRY_ASSIGN(const DeviceId id, device_id(device));
    return allocator->allocator->driver_memory().trim_device(id, Bytes(keep));
  });
}

void tessera_end_device(tessera_allocator* allocator, int device) {
  if (allocator == nullptr || device < 0) return;
  allocator->allocator->heaps().end(DeviceId(static_cast<std::uint64_t>(device)));
}

tessera_result tessera_trim_device_by(tessera_allocator* allocator, int device, uint64_t bytes) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    TESSERA_TRY_ASSIGN(const DeviceId id, device_id(device));
    return allocator->allocator->driver_memory().trim_device_by(id, Bytes(bytes));
  });
}

tessera_result tessera_tag_number(tessera_allocator* allocator, const char* tag, uint32_t* number) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || tag == nullptr || number == nullptr) return null_argument("allocator, tag and number");
    TESSERA_TRY_ASSIGN(const TagId id, allocator->allocator->tags().intern(tag));
    *number = static_cast<uint32_t>(id.value());
    return {};
  });
}

tessera_result tessera_malloc_tagged(tessera_allocator* allocator, int device, size_t bytes, tessera_stream stream,
                                     uint32_t number, tessera_address* address) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || address == nullptr) return null_argument("allocator and address");
    TESSERA_TRY_ASSIGN(const DeviceId id, device_id(device));
    TESSERA_TRY_ASSIGN(const Address block,
                       allocator->allocator->allocate(id, Bytes(bytes), stream_id(stream), TagId(number)));
    *address = block.value();
    return {};
  });
}

void tessera_expect_device_memory(tessera_allocator* allocator) {
  if (allocator != nullptr) allocator->allocator->driver_memory().expect_more();
}

tessera_result tessera_finish(tessera_allocator* allocator) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->reports().finish();
  });
}

}  // extern "C"
