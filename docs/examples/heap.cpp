// What heap.c does, with objects that end what they begin, and errors that are thrown. See README.md beside this file.
#include <cuda.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

#include "tessera/tessera.hpp"

namespace {

constexpr unsigned kBlocks = 16;
constexpr unsigned kBytes = 8U << 20;

void check(CUresult result) {
  const char* name = "";
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  throw std::runtime_error(name);
}

void run() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  check(cuInit(0));
  check(cuDeviceGet(&device, 0));
  check(cuDevicePrimaryCtxRetain(&context, device));
  check(cuCtxSetCurrent(context));

  tessera::heap heap(tessera::options().set("device-memory", "64MiB").set("host-memory", "256MiB"));
  std::vector<tessera::block> blocks;
  for (unsigned number = 0; number < kBlocks; ++number) {
    blocks.push_back(heap.allocate(kBytes, 0, nullptr));
    const tessera_address address = blocks.back().address();
    const tessera::use use(heap, {address}, nullptr, TESSERA_WRITE);
    check(cuMemsetD32(address, number, kBytes / 4));
  }
  for (unsigned number = 0; number < kBlocks; ++number) {
    unsigned last = 0;
    const tessera_address address = blocks[number].address();
    const tessera::use use(heap, {address}, nullptr, TESSERA_READ);
    check(cuMemcpyDtoH(&last, address + kBytes - 4, 4));
    if (last != number) throw std::runtime_error("a wrong value");
  }
  const tessera_stats stats = heap.stats();
  std::printf("%llu blocks of %u MiB, %llu MiB of device memory at most, %llu pages evicted: all values are right\n",
              static_cast<unsigned long long>(stats.live_blocks), kBytes >> 20,
              static_cast<unsigned long long>(stats.device_peak >> 20),
              static_cast<unsigned long long>(stats.evictions));
}  // the blocks are freed, then the heap ends

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
