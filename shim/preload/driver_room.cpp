#include "driver_room.hpp"

#include "capture.hpp"
#include "graph_execs.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"

namespace tessera::preload {
namespace detail {

CUdevice device_to_yield(const DriverNeed& need) {
  if (running() == nullptr || (need.stream != nullptr && capturing(need.stream))) return -1;
  const Entry entry;
  if (entry.nested()) return -1;
  if (need.device != DriverNeed::kCurrent) return need.device;
  const InPrimary in_primary;
  CUdevice device = -1;
  return call_true(&TrueDriver::cuCtxGetDevice, &device) == CUDA_SUCCESS ? device : -1;
}

// A driver error will surface in the program's own call; an error of the spill file is reported here.
YieldedRoom::YieldedRoom(CUdevice device, std::uint64_t wanted) : device_(device) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested()) return;
  const InPrimary in_primary;
  const tessera_result result = tessera_yield_begin(allocator, device_, wanted, &yielded_);
  if (result != TESSERA_OK) (void)cuda_result_said(result, "yielding device memory");
}

YieldedRoom::~YieldedRoom() {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (yielded_ == 0 || allocator == nullptr) return;
  const InPrimary in_primary;
  const tessera_result result = tessera_yield_end(allocator, device_);
  if (result != TESSERA_OK) (void)cuda_result_said(result, "yielding device memory");
  graph_execs().judge_anew();
}

}  // namespace detail

void expect_device_memory() {
  if (tessera_allocator* const allocator = running()) tessera_expect_device_memory(allocator);
}

}  // namespace tessera::preload
