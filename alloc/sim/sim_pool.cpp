#include "sim/sim_pool.hpp"

#include <utility>

#include <fmt/core.h>

#include "driver/native_codes.hpp"

namespace tessera {

SimPool::SimPool(std::string name, Bytes capacity) : name_(std::move(name)), capacity_(capacity) {}

Result<Bytes> SimPool::take(Bytes bytes) {
  const Bytes left = capacity_ - used_;
  if (bytes > left) {
    return Status(Code::kOutOfMemory,
                  fmt::format("a frame of {} bytes on {}: {} of {} bytes are free", bytes.value(), name_, left.value(),
                              capacity_.value()),
                  native::kOutOfMemory);
  }
  TESSERA_TRY_ASSIGN(const Bytes offset, place(bytes));
  used_ += bytes;
  return offset;
}

void SimPool::give(Bytes offset, Bytes bytes) {
  clear(offset, bytes);
  used_ -= bytes;
}

}  // namespace tessera
