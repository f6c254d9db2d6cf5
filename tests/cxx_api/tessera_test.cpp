// A C++17 program that knows tessera.hpp and memory_resource.hpp alone: objects end what they begin, and errors are
// thrown, or returned where a std::error_code is passed.
// It runs on whatever libcuda.so.1 is found; the test puts the software device there.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tessera/memory_resource.hpp"
#include "tessera/tessera.hpp"

namespace {

int failures = 0;

void expect(bool condition, const char* text, int line) {
  if (condition) return;
  std::fprintf(stderr, "line %d: expected %s; last error: %s\n", line, text, tessera_last_error());
  ++failures;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

template <class Thrown, class Act>
bool throws(Act act) {
  try {
    act();
  } catch (const Thrown& thrown) {
    return std::strlen(thrown.what()) > 0;
  }
  return false;
}

tessera::options small() {
  tessera::options options;
  options.set("device-memory", "8MiB").set("host-memory", std::string("256MiB")).set("log-level", "error");
  options.set("policy", "lru");
  return options;
}

void blocks_end_with_their_owner(tessera::heap& heap) {
  tessera_address address = 0;
  {
    tessera::block block = heap.allocate(3 << 20, 0, nullptr);
    address = block.address();
    EXPECT(block && block.size() == 3 << 20 && block.as<float>() != nullptr);
    tessera::block moved = std::move(block);
    EXPECT(moved.address() == address && moved.size() == 3 << 20);
    EXPECT(heap.query(address).bytes == 3 << 20);
    EXPECT(heap.stats().live_blocks == 1);
    moved = heap.allocate(1 << 20, 0, nullptr);  // ends the first one
    EXPECT(heap.stats().live_blocks == 1 && heap.stats().live_bytes == 1 << 20);
    const tessera_address kept = moved.release();
    EXPECT(!moved && heap.stats().live_blocks == 1);
    tessera::block(heap.get(), kept, 1 << 20, nullptr).reset();
  }
  std::error_code code;
  (void)heap.query(address, code);
  EXPECT(code == std::error_code(TESSERA_NOT_FOUND, tessera::category()));
  EXPECT(heap.stats().live_blocks == 0);
}

void errors_are_thrown_or_returned(tessera::heap& heap) {
  EXPECT(throws<tessera::out_of_memory>([&] { (void)heap.allocate(std::size_t{1} << 40, 0, nullptr); }));
  EXPECT(throws<std::bad_alloc>([&] { (void)heap.allocate(std::size_t{1} << 40, 0, nullptr); }));
  EXPECT(throws<tessera::error>([&] { heap.set_policy("no such policy"); }));
  EXPECT(throws<std::system_error>([&] { (void)heap.allocate(0, 0, nullptr); }));
  try {
    (void)heap.query(1);
    EXPECT(false);  // not reached
  } catch (const tessera::error& error) {
    EXPECT(error.code().value() == TESSERA_NOT_FOUND && error.driver_code() == 0);
  }
  std::error_code code = std::make_error_code(std::errc::io_error);
  tessera::block none = heap.allocate(std::size_t{1} << 40, 0, nullptr, code);
  EXPECT(!none && code == std::errc::not_enough_memory && code.message() == "out of memory");
  const tessera::block some = heap.allocate(4096, 0, nullptr, code);
  EXPECT(some && !code);
  none.reset();  // nothing to free
}

void scopes_end_what_they_begin(tessera::heap& heap) {
  tessera::block a, b;
  {
    const tessera::tag_scope tag(heap, "weights");
    a = heap.allocate(3 << 20, 0, nullptr);
  }
  b = heap.allocate(3 << 20, 0, nullptr);
  EXPECT(heap.query(a.address()).tag == std::string("weights") && heap.query(b.address()).tag[0] == '\0');
  {
    const tessera::pin pin(heap, a.address());
    EXPECT(heap.query(a.address()).pins == 1);
    EXPECT(throws<tessera::error>([&] { heap.evict({a.address()}); }));
  }
  EXPECT(heap.query(a.address()).pins == 0);
  heap.evict({a.address()});
  EXPECT(heap.query(a.address()).device_bytes == 0);
  {
    tessera::use use(heap, {a.address(), b.address()}, nullptr, TESSERA_WRITE);
    EXPECT(bool(use));
    use.end();
    EXPECT(!use && heap.query(a.address()).host_bytes == 0);
  }
  EXPECT(heap.sleep("weights").moved_bytes >= 3 << 20);
  EXPECT(heap.wake("weights").moved_bytes >= 3 << 20);
  EXPECT(throws<tessera::error>([&] { heap.sleep("no such tag"); }));
  const tessera::block c = heap.allocate(3 << 20, 0, nullptr);
  std::error_code code;
  const tessera::use all(heap, {a.address(), b.address(), c.address()}, nullptr, TESSERA_READ, code);
  EXPECT(bool(all) != (code == std::errc::not_enough_memory));  // 9 MiB of 8: partly in host memory, or not at all
}

void resources_serve_containers(tessera::heap& heap) {
  const tessera::device_resource device(heap);
  void* memory = device.allocate(1000, 256, nullptr);
  void* nothing = device.allocate(0, 1, nullptr);
  EXPECT(memory != nullptr && nothing != nullptr && nothing != memory);
  EXPECT(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
  device.deallocate(memory, nullptr);
  device.deallocate(nothing, nullptr);
  EXPECT(throws<tessera::error>([&] { device.deallocate(memory, nullptr); }));
  EXPECT(throws<tessera::error>([&] { (void)device.allocate(1000, 1024, nullptr); }));
  EXPECT(device == tessera::device_resource(heap) && device != tessera::device_resource(heap, 1));

  tessera::host_resource host(heap);
  {
    std::pmr::vector<std::uint64_t> pinned(&host);
    for (std::uint64_t i = 0; i < 10000; ++i) pinned.push_back(i);
    EXPECT(pinned[9999] == 9999 && heap.stats().host_blocks == 1);
    EXPECT(heap.stats().host_block_bytes >= 80000);
  }
  EXPECT(heap.stats().host_blocks == 0);
  void* page = host.allocate(8, 4096);
  EXPECT(reinterpret_cast<std::uintptr_t>(page) % 4096 == 0);
  host.deallocate(page, 8, 4096);
  EXPECT(throws<tessera::error>([&] { (void)host.allocate(8, 8192); }));
  EXPECT(throws<tessera::out_of_memory>([&] { (void)host.allocate(std::size_t{1} << 40); }));
  EXPECT(host.is_equal(tessera::host_resource(heap)) && !host.is_equal(*std::pmr::new_delete_resource()));
}

void the_shared_heap_is_not_owned() {
  const tessera_allocator* one = tessera::heap::shared().get();
  EXPECT(one != nullptr && tessera::heap::shared().get() == one);
}

}  // namespace

int main() {
  {
    tessera::heap heap(small());
    blocks_end_with_their_owner(heap);
    errors_are_thrown_or_returned(heap);
    scopes_end_what_they_begin(heap);
    resources_serve_containers(heap);
  }
  EXPECT(throws<tessera::error>([] { tessera::options().set("no-such-option", "1"); }));
  the_shared_heap_is_not_owned();
  return failures == 0 ? 0 : 1;
}
