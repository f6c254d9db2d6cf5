// profile.h: a part of a program that is reported by itself.
#include "api/profile_api.hpp"

#include <atomic>

#include "api/call.hpp"
#include "api/handles.hpp"
#include "observe/text_file.hpp"
#include "tessera/interpose.h"
#include "tessera/profile.h"

namespace tessera {
namespace {

constinit std::atomic<bool> awaited{false};  // a part of the shared allocator, which does not exist yet

// The shared one for null. `result` says why there is none.
tessera_allocator* meant(tessera_allocator* allocator, tessera_result& result) {
  result = allocator == nullptr ? tessera_shared(&allocator) : TESSERA_OK;
  return result == TESSERA_OK ? allocator : nullptr;
}

}  // namespace

void begin_awaited_profile(tessera_allocator& allocator) {
  if (awaited.exchange(false)) (void)allocator.allocator->reports().begin_profile();
}

}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_profile_begin(tessera_allocator* allocator) {
  tessera_result result = TESSERA_OK;
  tessera_allocator* found = meant(allocator, result);
  if (result == TESSERA_NOT_READY) {
    awaited.store(true);
    found = meant(nullptr, result);  // it may have been made meanwhile
    if (result == TESSERA_NOT_READY || !awaited.exchange(false)) return TESSERA_OK;
  }
  if (found == nullptr) return result;
  return api_call([&] { return found->allocator->reports().begin_profile(); });
}

tessera_result tessera_profile_end(tessera_allocator* allocator, const char* path) {
  if (allocator == nullptr) awaited.store(false);
  tessera_result result = TESSERA_OK;
  tessera_allocator* const found = meant(allocator, result);
  if (found == nullptr) return result;
  return api_call([&]() -> Status {
    std::string text;
    TESSERA_TRY_ASSIGN(text, found->allocator->reports().end_profile());
    return path == nullptr ? Status() : write_text_file(path, text);
  });
}

}  // extern "C"
