#include "several_devices.hpp"

#include "green_contexts.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

CUdevice current_device() {
  CUdevice device = -1;
  (void)call_true(&TrueDriver::cuCtxGetDevice, &device);
  return device;
}

CUdevice device_of(CUstream stream) {
  const InContextOf its(stream);
  return current_device();
}

bool machine_has_several() {
  static const bool several = [] {
    int count = 0;
    return call_true(&TrueDriver::cuDeviceGetCount, &count) == CUDA_SUCCESS && count > 1;
  }();
  return several;
}

bool find(CUdeviceptr address, tessera_block_info& info) {
  info = {};
  info.size = sizeof(info);
  return tessera_query(running(), address, &info) == TESSERA_OK;
}

// Default streams belong to the current context, and so does a stream for which the driver returns no context.
CUcontext context_of_stream(CUstream stream) {
  CUcontext context = nullptr;
  return call_true(&TrueDriver::cuStreamGetCtx, stream, &context) == CUDA_SUCCESS ? context : nullptr;
}

}  // namespace

InContextOf::InContextOf(CUstream stream) : context_(machine_has_several() ? context_of_stream(stream) : nullptr) {}

bool is_foreign(const tessera_block_info& block, CUstream stream) {
  return several_devices() && block.device != device_of(stream);
}

std::vector<tessera_address> blocks_if_foreign(std::span<const std::uint64_t> words, CUstream stream) {
  const CUdevice own = device_of(stream);
  std::vector<tessera_address> blocks;
  bool foreign = of_green_default(stream);
  for (const std::uint64_t word : words) {
    tessera_block_info block;
    if (!find(word, block)) continue;
    blocks.push_back(block.address);
    foreign = foreign || block.device != own;
  }
  if (!foreign) blocks.clear();
  return blocks;
}

bool frees_apart(CUdeviceptr address, CUstream stream) {
  if (of_green_default(stream)) return true;
  tessera_block_info block;
  return several_devices() && find(address, block) && block.device != device_of(stream);
}

CUresult finish_elsewhere(CUdeviceptr address) {
  tessera_block_info block;
  if (!several_devices() || !find(address, block)) return CUDA_SUCCESS;
  if (block.device == current_device()) return CUDA_SUCCESS;
  return cuda_result(tessera_synchronize(running(), block.device));
}

}  // namespace tessera::preload
