// tessera.h and limits.h: validate, forward, translate the error.
#include "tessera/tessera.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "api/call.hpp"
#include "api/copy_out.hpp"
#include "api/handles.hpp"
#include "api/use_handle.hpp"
#include "base/available_memory.hpp"
#include "base/available_processors.hpp"
#include "base/available_tasks.hpp"
#include "base/nearest_word.hpp"
#include "base/size_text.hpp"
#include "driver/cuda_driver.hpp"
#include "tessera/limits.h"

namespace tessera {
namespace {

std::span<const Address> span_of(const tessera_address* addresses, std::size_t count) {
  static_assert(sizeof(Address) == sizeof(tessera_address));
  return {reinterpret_cast<const Address*>(addresses), count};
}

Status check_array(const tessera_allocator* allocator, const void* addresses, std::size_t count) {
  if (allocator == nullptr) return null_argument("allocator");
  if (addresses == nullptr && count != 0) return null_argument("addresses");
  if (count > kMaxUseAddresses) {
    return Status(Code::kInvalidArgument, "a use has at most 4096 addresses");
  }
  return {};
}

tessera_stream stream_handle(StreamId stream) { return reinterpret_cast<tessera_stream>(stream.value()); }

Status outcome_of(int code) {
  if (code == 0) return {};
  return Status(Code::kDriver, fmt::format("its callback returned {}", code), code);
}

tessera_block_info describe(const MemoryQueries::Where& where, const std::string& tag) {
  tessera_block_info info{};
  info.device = static_cast<std::int32_t>(where.device.value());
  info.address = where.block.address.value();
  info.bytes = where.block.bytes.value();
  info.capacity = where.block.capacity.value();
  info.generation = where.block.generation;
  info.device_bytes = where.tiers[0].value();
  info.peer_bytes = where.tiers[1].value();
  info.host_bytes = where.tiers[2].value();
  info.file_bytes = where.tiers[3].value();
  info.pins = where.pins;
  std::strncpy(info.tag, tag.c_str(), sizeof(info.tag) - 1);
  return info;
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

const char* tessera_result_name(tessera_result result) { return name_of(static_cast<Code>(result)).data(); }
const char* tessera_last_error(void) { return last_error_text(); }
int tessera_last_driver_code(void) { return last_driver_code(); }
uint64_t tessera_available_memory(void) { return available_memory().value(); }
double tessera_available_processors(void) { return available_processors(); }
uint64_t tessera_available_tasks(void) { return available_tasks(); }
const char* tessera_version(void) { return TESSERA_VERSION_STRING; }

// ---- options ------------------------------------------------------------------------------------

tessera_result tessera_options_create(tessera_options** options) {
  return api_call([&]() -> Status {
    if (options == nullptr) return null_argument("options");
    auto made = std::make_unique<tessera_options>();
    TESSERA_TRY_ASSIGN(made->options, Options::from_environment());
    *options = made.release();
    return {};
  });
}

void tessera_options_destroy(tessera_options* options) { delete options; }

tessera_result tessera_options_set(tessera_options* options, const char* name, const char* value) {
  return api_call([&]() -> Status {
    if (options == nullptr || name == nullptr || value == nullptr) {
      return null_argument("options, name and value");
    }
    return options->options.set(name, value);
  });
}

tessera_result tessera_options_check(const tessera_options* options) {
  return api_call([&]() -> Status {
    if (options == nullptr) return null_argument("options");
    return options->options.validate();
  });
}

tessera_result tessera_parse_size(const char* text, uint64_t* bytes) {
  return api_call([&]() -> Status {
    if (text == nullptr || bytes == nullptr) return null_argument("text and bytes");
    Bytes parsed;
    TESSERA_TRY_ASSIGN(parsed, parse_size(text));
    *bytes = parsed.value();
    return {};
  });
}

const char* tessera_nearest_word(const char* word, const char* const* words, size_t count) {
  const char* nearest = nullptr;
  const tessera_result found = api_call([&]() -> Status {
    if (word == nullptr || (words == nullptr && count != 0)) return null_argument("word and words");
    const std::vector<std::string_view> known(words, words + count);
    const std::string_view close = nearest_word(word, known);
    if (!close.empty()) nearest = close.data();
    return {};
  });
  return found == TESSERA_OK ? nearest : nullptr;
}

tessera_result tessera_options_get(const tessera_options* options, const char* name, char* value, size_t capacity) {
  return api_call([&]() -> Status {
    if (options == nullptr || name == nullptr || value == nullptr) {
      return null_argument("options, name and value");
    }
    std::string text;
    TESSERA_TRY_ASSIGN(text, options->options.get(name));
    if (text.size() >= capacity) {
      return Status(Code::kInvalidArgument, fmt::format("{} needs {} bytes", name, text.size() + 1));
    }
    std::memcpy(value, text.c_str(), text.size() + 1);
    return {};
  });
}

// ---- the allocator ------------------------------------------------------------------------------

tessera_result tessera_allocator_create(const tessera_options* options, tessera_allocator** allocator) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    Options chosen;
    CudaResolver resolver;
    if (options != nullptr) {
      chosen = options->options;
      resolver = options->resolver;
    } else {
      TESSERA_TRY_ASSIGN(chosen, Options::from_environment());
    }
    if (chosen.off) return Status(Code::kNotSupported, "Tessera is disabled (option off)");
    if (!resolver) {
      TESSERA_TRY_ASSIGN(resolver, open_cuda_library());
    }
    std::unique_ptr<CudaDriver> driver;
    TESSERA_TRY_ASSIGN(driver, CudaDriver::open(resolver));
    auto made = std::make_unique<tessera_allocator>();
    TESSERA_TRY_ASSIGN(made->allocator, Allocator::create(std::move(driver), chosen, made->clock));
    *allocator = made.release();
    return {};
  });
}

void tessera_allocator_destroy(tessera_allocator* allocator) { delete allocator; }

tessera_result tessera_malloc(tessera_allocator* allocator, int device, size_t bytes, tessera_stream stream,
                              tessera_address* address) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || address == nullptr) return null_argument("allocator and address");
    if (device < 0) return Status(Code::kInvalidArgument, "a device number must be 0 or greater");
    Address block;
    TESSERA_TRY_ASSIGN(block, allocator->allocator->allocate(DeviceId(static_cast<std::uint64_t>(device)), Bytes(bytes),
                                                             stream_id(stream)));
    *address = block.value();
    return {};
  });
}

tessera_result tessera_free(tessera_allocator* allocator, tessera_address address, tessera_stream stream) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->free(Address(address), stream_id(stream));
  });
}

tessera_result tessera_trim(tessera_allocator* allocator) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->driver_memory().trim();
  });
}

// ---- uses and hints -----------------------------------------------------------------------------

tessera_result tessera_use_begin(tessera_allocator* allocator, const tessera_address* addresses, size_t count,
                                 tessera_stream stream, tessera_access access, tessera_use* use) {
  return api_call([&]() -> Status {
    TESSERA_TRY(check_array(allocator, addresses, count));
    if (use == nullptr) return null_argument("use");
    AnnouncedUse announced;
    TESSERA_TRY(allocator->allocator->uses().begin(span_of(addresses, count), stream_id(stream), access_of(access),
                                                   Use::Kind::kGate, "", announced));
    pack_use(std::move(announced), use);
    return {};
  });
}

void tessera_use_end(tessera_allocator* allocator, tessera_use* use) {
  if (allocator == nullptr || use == nullptr) return;
  AnnouncedUse announced = unpack_use(use);
  allocator->allocator->uses().end(announced);
}

tessera_result tessera_touch(tessera_allocator* allocator, tessera_address address, tessera_stream stream,
                             tessera_access access) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->uses().touch(Address(address), stream_id(stream), access_of(access));
  });
}

tessera_result tessera_prefetch(tessera_allocator* allocator, const tessera_address* addresses, size_t count) {
  return api_call([&]() -> Status {
    TESSERA_TRY(check_array(allocator, addresses, count));
    return allocator->allocator->hints().prefetch(span_of(addresses, count));
  });
}

tessera_result tessera_evict(tessera_allocator* allocator, const tessera_address* addresses, size_t count) {
  return api_call([&]() -> Status {
    TESSERA_TRY(check_array(allocator, addresses, count));
    return allocator->allocator->hints().evict(span_of(addresses, count));
  });
}

tessera_result tessera_pin(tessera_allocator* allocator, tessera_address address) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->pins().pin(Address(address));
  });
}

tessera_result tessera_unpin(tessera_allocator* allocator, tessera_address address) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return allocator->allocator->pins().unpin(Address(address));
  });
}

tessera_result tessera_set_policy(tessera_allocator* allocator, const char* name) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || name == nullptr) return null_argument("allocator and name");
    return allocator->allocator->heaps().set_policy(name);
  });
}

tessera_result tessera_set_recompute(tessera_allocator* allocator, tessera_address address, tessera_recompute recompute,
                                     void* context, uint64_t cost_ns) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    Hints::Recomputer recomputer;
    if (recompute != nullptr) {
      recomputer = [recompute, context](Address at, Bytes bytes, StreamId stream) {
        return outcome_of(recompute(context, at.value(), bytes.value(), stream_handle(stream)));
      };
    }
    return allocator->allocator->hints().set_recompute(Address(address), std::move(recomputer), Nanoseconds(cost_ns));
  });
}

tessera_result tessera_tag_push(tessera_allocator* allocator, const char* tag) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || tag == nullptr) return null_argument("allocator and tag");
    TagId id;
    TESSERA_TRY_ASSIGN(id, allocator->allocator->tags().intern(tag));
    return TagStack::push(id);
  });
}

tessera_result tessera_tag_pop(tessera_allocator* allocator) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return TagStack::pop();
  });
}

tessera_result tessera_mark(tessera_allocator* allocator, const char* kind, uint64_t number) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || kind == nullptr) return null_argument("allocator and kind");
    allocator->allocator->mark(kind, number);
    return {};
  });
}

// ---- looking ------------------------------------------------------------------------------------

tessera_result tessera_query(tessera_allocator* allocator, tessera_address address, tessera_block_info* info) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    const auto where = allocator->allocator->memory().where(Address(address));
    if (!where.is_ok()) return where.status();
    const std::string tag = allocator->allocator->tags().name_of(where.value().block.tag);
    return copy_out_struct(describe(where.value(), tag), info, "info");
  });
}

tessera_result tessera_get_stats(tessera_allocator* allocator, tessera_stats* stats) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    return copy_out_struct(allocator->allocator->stats().snapshot().totals, stats, "stats");
  });
}

tessera_result tessera_stats_json(tessera_allocator* allocator, char* buffer, size_t capacity, size_t* needed) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || needed == nullptr) return null_argument("allocator and needed");
    if (buffer == nullptr && capacity != 0) return null_argument("buffer");
    const std::string json = stats_json(allocator->allocator->stats().snapshot());
    *needed = json.size() + 1;
    if (capacity == 0) return {};
    const std::size_t length = std::min(capacity - 1, json.size());
    std::memcpy(buffer, json.data(), length);
    buffer[length] = 0;
    return {};
  });
}

tessera_result tessera_write_timeline(tessera_allocator* allocator, const char* path) {
  return api_call([&]() -> Status {
    if (allocator == nullptr || path == nullptr) return null_argument("allocator and path");
    return allocator->allocator->reports().write_timeline(path);
  });
}

}  // extern "C"
