// tessera.h: sleep and wake, and blocks used by several streams.
#include <vector>

#include "api/call.hpp"
#include "api/handles.hpp"
#include "api/use_handle.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMaxStreams = 4096;

template <class Act>
Status move_tag(tessera_allocator* allocator, tessera_moved* moved, Act act) {
  if (allocator == nullptr || moved == nullptr) return null_argument("allocator and moved");
  if (moved->size < sizeof(tessera_moved)) {
    return Status(Code::kInvalidArgument, "moved->size is not set");
  }
  Moved sum;
  TESSERA_TRY_ASSIGN(sum, act(allocator->allocator->hints()));
  *moved = {sizeof(tessera_moved), 0, sum.moved.value(), sum.stayed.value()};
  return {};
}

}  // namespace
}  // namespace tessera

using namespace tessera;  // the functions below are C and can live in no namespace

extern "C" {

tessera_result tessera_sleep(tessera_allocator* allocator, const char* tag, tessera_moved* moved) {
  return api_call([&] { return move_tag(allocator, moved, [&](Hints& hints) { return hints.sleep(tag); }); });
}

tessera_result tessera_wake(tessera_allocator* allocator, const char* tag, tessera_moved* moved) {
  return api_call([&] { return move_tag(allocator, moved, [&](Hints& hints) { return hints.wake(tag); }); });
}

tessera_result tessera_free_after(tessera_allocator* allocator, tessera_address address, const tessera_stream* streams,
                                  size_t count) {
  return api_call([&]() -> Status {
    if (allocator == nullptr) return null_argument("allocator");
    if (streams == nullptr && count != 0) return null_argument("streams");
    if (count > kMaxStreams) return Status(Code::kInvalidArgument, "a block has at most 4096 streams");
    std::vector<StreamId> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(stream_id(streams[i]));
    return allocator->allocator->free_after(Address(address), ids);
  });
}

}  // extern "C"
