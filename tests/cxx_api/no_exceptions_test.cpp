// The same headers in a program without exceptions (-fno-exceptions): every call that can fail takes a std::error_code.
#include <cstdio>

#include "tessera/memory_resource.hpp"

int main() {
  std::error_code code;
  tessera::options options(code);
  if (code) return 1;
  options.set("device-memory", "8MiB", code).set("host-memory", "16MiB", code).set("log-level", "error", code);
  if (code) return 2;
  tessera::heap heap(options, code);
  if (!heap || code) return 3;
  const tessera::block block = heap.allocate(1 << 20, 0, nullptr, code);
  if (!block || code) return 4;
  if (heap.allocate(std::size_t{1} << 40, 0, nullptr, code) || code != std::errc::not_enough_memory) return 5;
  if (tessera::device_resource(heap).allocate(8, 1024, nullptr, code) || code != std::errc::invalid_argument) return 6;
  heap.evict({block.address()}, code);
  if (code || heap.query(block.address(), code).device_bytes != 0) return 7;
  return 0;
}
