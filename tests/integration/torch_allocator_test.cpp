// libtessera_torch.so as loaded and called by PyTorch, without PyTorch.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "program_run.hpp"
#include "softcuda_library.hpp"
#include "tessera/interpose.h"

namespace {

using tessera::programs::Environment;
using tessera::programs::run;
using tessera::programs::run_preloaded;

const std::string kCalls = "./torch_calls ../libtessera_torch.so probe_kernels.so";

TEST(TorchPrograms, ThreadsStreamsAndDevicesKeepTheirBytes) {
  const auto outcome = run(kCalls, {{"TESSERA_SOFTWARE_DEVICES", "2"}});
  EXPECT_EQ(outcome.output, "ok\n") << outcome.message;
  EXPECT_EQ(outcome.message, "");
}

TEST(TorchPrograms, UnderThePreloadLibraryTheHeapIsLargerThanTheDevice) {
  const Environment small = {{"TESSERA_DEVICE_MEMORY", "32MiB"}, {"TESSERA_HOST_MEMORY", "128MiB"}};
  const auto outcome = run_preloaded(kCalls + " 20", small);
  EXPECT_EQ(outcome.output, "ok\n") << outcome.message;
  EXPECT_EQ(outcome.message, "");
}

const std::string kGraphs = "./torch_graphs ../libtessera_torch.so preload_kernels.so";

TEST(TorchPrograms, GraphsKeepTheirBlocksWhileTheyLive) {
  const auto outcome = run(kGraphs);
  EXPECT_EQ(outcome.output, "ok\n") << outcome.message;
  EXPECT_EQ(outcome.message, "");
}

TEST(TorchPrograms, UnderThePreloadLibraryTheirBlocksMoveBetweenLaunches) {
  const auto outcome = run_preloaded(kGraphs, {{"TESSERA_DEVICE_MEMORY", "12MiB"}, {"TESSERA_HOST_MEMORY", "128MiB"}});
  EXPECT_EQ(outcome.output, "ok\n") << outcome.message;
  EXPECT_EQ(outcome.message, "");
}

// One process, one shared allocator: 32 MiB of a software device.
class TorchAllocator : public softcuda_test::SoftwareDevice {
 protected:
  static constexpr ssize_t kBlock = 4 << 20;

  void SetUp() override {
    ::setenv("TESSERA_DEVICE_MEMORY", "32MiB", 1);
    ::setenv("TESSERA_HOST_MEMORY", "128MiB", 1);
    ::setenv("TESSERA_LOG_LEVEL", "quiet", 1);
    SoftwareDevice::SetUp();  // its library is this process's libcuda.so.1 from here on
    library_ = ::dlopen(softcuda_test::build_path("lib/libtessera_torch.so").c_str(), RTLD_NOW);
    ASSERT_NE(library_, nullptr) << ::dlerror();
  }
  template <class Function>
  Function* hook(const char* name) {
    void* const found = ::dlsym(library_, name);
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function*>(found);
  }
  void* take(ssize_t bytes = kBlock, CUstream stream = nullptr) {
    return hook<void*(ssize_t, int, CUstream)>("tessera_torch_malloc")(bytes, 0, stream);
  }
  void give(void* block, ssize_t bytes = kBlock, CUstream stream = nullptr) {
    hook<void(void*, ssize_t, int, CUstream)>("tessera_torch_free")(block, bytes, 0, stream);
  }
  // The tests contain another copy of the library; the hooks use the shared one.
  template <class... Args>
  tessera_result call(const char* name, Args... args) {
    tessera_allocator* allocator = nullptr;
    hook<tessera_result(tessera_allocator**)>("tessera_shared")(&allocator);
    return hook<tessera_result(tessera_allocator*, Args...)>(name)(allocator, args...);
  }
  tessera_block_info info(const void* block) {
    tessera_block_info info{};
    info.size = sizeof(info);
    call("tessera_query", reinterpret_cast<tessera_address>(block), &info);
    return info;
  }
  tessera_result begin(std::vector<void*> blocks, std::size_t written = 0) {
    return hook<tessera_result(void**, std::size_t, std::size_t)>("tessera_torch_begin")(blocks.data(), blocks.size(),
                                                                                         written);
  }
  tessera_result end(CUstream stream = nullptr) { return hook<tessera_result(CUstream)>("tessera_torch_end")(stream); }

  using PoolId = std::pair<unsigned long long, unsigned long long>;
  using Filter = std::function<bool(CUstream)>;
  void begin_pool(PoolId id, CUstream captured) {
    hook<void(int, PoolId, Filter)>("tessera_torch_begin_pool")(
        0, id, [captured](CUstream stream) { return stream == captured; });
  }
  void end_pool(PoolId id) { hook<void(int, PoolId)>("tessera_torch_end_pool")(0, id); }
  void release_pool(PoolId id) { hook<void(int, PoolId)>("tessera_torch_release_pool")(0, id); }

  void* library_ = nullptr;
};

TEST_F(TorchAllocator, OutOfMemoryIsACatchableException) {
  std::vector<void*> blocks;
  std::string message;
  try {
    for (int i = 0; i < 9; ++i) blocks.push_back(take());
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  EXPECT_EQ(blocks.size(), 8U) << "no block leaves unasked: nobody says who uses it";
  EXPECT_NE(message.find("CUDA out of memory"), std::string::npos) << message;
  EXPECT_EQ(std::uncaught_exceptions(), 0) << "thrown by another runtime than the one that caught it";
  for (void* block : blocks) give(block);
}

TEST_F(TorchAllocator, ABlockIsReusedOnItsStreamAtOnce) {
  void* const first = take();
  give(first);
  void* const second = take();
  EXPECT_EQ(first, second);
  give(second);
}

TEST_F(TorchAllocator, ARecordedStreamKeepsTheBlockUntilItsWorkIsDone) {
  CUstream side = nullptr;
  ASSERT_OK(CU(cuStreamCreate)(&side, CU_STREAM_NON_BLOCKING));
  int* go = nullptr;
  ASSERT_OK(CU(cuMemAllocHost)(reinterpret_cast<void**>(&go), sizeof(*go)));
  *go = 0;
  void* parameters[] = {&go};
  void* const block = take();
  ASSERT_OK(launch(kernel("hold"), parameters, side));
  const auto record = hook<void(void*, CUstream)>("tessera_torch_record_stream");
  record(static_cast<char*>(block) + 64, side);
  record(block, side);
  give(block);
  void* const other = take();
  EXPECT_NE(other, block);
  *static_cast<volatile int*>(go) = 1;
  ASSERT_OK(CU(cuStreamSynchronize)(side));
  give(other);
  record(block, side);  // too late, and harmless
  ASSERT_OK(CU(cuMemFreeHost)(go));
  EXPECT_EQ(call("tessera_retire_stream", static_cast<tessera_stream>(side)), TESSERA_OK);
  ASSERT_OK(CU(cuStreamDestroy)(side));
}

// PyTorch's filter queries CUDA about the stream, and throws if that fails.
TEST_F(TorchAllocator, AnExceptionOfTheProgramPassesThroughAndHoldsNoLock) {
  const PoolId id = {7, 0};
  hook<void(int, PoolId, Filter)>("tessera_torch_begin_pool")(
      0, id, [](CUstream) -> bool { throw std::logic_error("the stream is lost"); });
  std::string message;
  try {
    take();
  } catch (const std::logic_error& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "the stream is lost");
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  end_pool(id);
  void* const block = take();
  EXPECT_NE(block, nullptr);
  give(block);
  release_pool(id);
}

TEST_F(TorchAllocator, APoolHoldsItsBlocksUntilItIsReleasedAndMemoryIsShort) {
  CUstream captured = nullptr;
  ASSERT_OK(CU(cuStreamCreate)(&captured, CU_STREAM_NON_BLOCKING));
  const PoolId id = {3, 0};
  begin_pool(id, captured);
  std::vector<void*> inside, outside;
  for (int i = 0; i < 6; ++i) inside.push_back(take(kBlock, captured));
  for (void* block : inside) give(block, kBlock, captured);
  void* const again = take(kBlock, captured);
  EXPECT_NE(std::find(inside.begin(), inside.end(), again), inside.end());
  void* const small = take(kBlock / 4, captured);
  EXPECT_EQ(std::find(inside.begin(), inside.end(), small), inside.end()) << "far too large for it";
  give(again, kBlock, captured);
  give(small, kBlock / 4, captured);
  end_pool(id);
  outside.push_back(take(kBlock, captured));
  EXPECT_THROW(take(), std::runtime_error);
  release_pool(id);
  for (int i = 0; i < 7; ++i) outside.push_back(take());
  for (void* block : outside) give(block);
  EXPECT_OK(CU(cuStreamDestroy)(captured));
}

TEST_F(TorchAllocator, APoolOfSeveralGraphsIsReleasedByTheLastAndKeepsLiveBlocks) {
  CUstream captured = nullptr;
  ASSERT_OK(CU(cuStreamCreate)(&captured, CU_STREAM_NON_BLOCKING));
  const PoolId id = {0, 4};
  begin_pool(id, captured);
  void* const alive = take(kBlock, captured);
  void* const freed = take(5 * kBlock, captured);
  give(freed, 5 * kBlock, captured);
  end_pool(id);
  begin_pool(id, captured);
  EXPECT_EQ(take(5 * kBlock, captured), freed) << "a later graph of the pool takes it again";
  give(freed, 5 * kBlock, captured);
  end_pool(id);
  release_pool(id);
  EXPECT_THROW(take(5 * kBlock), std::runtime_error);
  release_pool(id);
  void* const outside = take(5 * kBlock);
  EXPECT_EQ(info(alive).device_bytes, static_cast<std::uint64_t>(kBlock));
  give(outside, 5 * kBlock);
  give(alive, kBlock, captured);
  hook<void()>("tessera_torch_reset")();
  void* const all = take(8 * kBlock);
  give(all, 8 * kBlock);
  EXPECT_OK(CU(cuStreamDestroy)(captured));
}

TEST_F(TorchAllocator, TheBaseOfABlockIsReportedAndPinned) {
  void* const block = take();
  std::size_t size = 0;
  const auto base = hook<void*(void*, std::size_t*)>("tessera_torch_base_alloc");
  EXPECT_EQ(base(static_cast<char*>(block) + 4096, &size), block);
  EXPECT_EQ(size, static_cast<std::size_t>(kBlock));
  tessera_address address = reinterpret_cast<tessera_address>(block);
  EXPECT_EQ(call("tessera_evict", const_cast<const tessera_address*>(&address), std::size_t{1}), TESSERA_BUSY);
  give(block);
  hook<void()>("tessera_torch_reset")();
}

TEST_F(TorchAllocator, AnOperatorFetchesAndPinsItsOperandsAndAllocations) {
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(take());
  tessera_address first = reinterpret_cast<tessera_address>(blocks[0]);
  ASSERT_EQ(call("tessera_evict", const_cast<const tessera_address*>(&first), std::size_t{1}), TESSERA_OK);
  int foreign = 0;
  ASSERT_EQ(begin({blocks[0], static_cast<char*>(blocks[0]) + 8, &foreign, blocks[1]}, 1), TESSERA_OK);
  void* const made = take();
  EXPECT_EQ(info(blocks[0]).device_bytes, static_cast<std::uint64_t>(kBlock));
  EXPECT_EQ(info(blocks[0]).pins, 1U);
  EXPECT_EQ(info(blocks[2]).pins, 0U);
  EXPECT_EQ(info(made).pins, 1U);
  EXPECT_EQ(end(), TESSERA_OK);
  for (void* block : {blocks[0], blocks[1], made}) EXPECT_EQ(info(block).pins, 0U);
  EXPECT_EQ(end(), TESSERA_INVALID_ARGUMENT);
  give(made);
  for (void* block : blocks) give(block);
}

TEST_F(TorchAllocator, ABlockFreedInsideItsOperatorLeavesNoPinBehind) {
  void* const block = take();
  ASSERT_EQ(begin({block}), TESSERA_OK);
  give(block);
  EXPECT_EQ(end(), TESSERA_OK);
  void* const again = take();
  EXPECT_EQ(again, block);
  EXPECT_EQ(info(again).pins, 0U);
  give(again);
}

TEST_F(TorchAllocator, OperandsThatDoNotFitTogetherAreAnErrorAndPinNothing) {
  call("tessera_set_automatic", 1);
  std::vector<void*> blocks;
  for (int i = 0; i < 12; ++i) blocks.push_back(take());
  EXPECT_EQ(begin(blocks), TESSERA_OUT_OF_MEMORY);
  for (void* block : blocks) EXPECT_EQ(info(block).pins, 0U);
  EXPECT_EQ(begin({blocks[0], blocks[11]}, 2), TESSERA_OK);
  EXPECT_EQ(end(), TESSERA_OK);
  for (void* block : blocks) give(block);
  call("tessera_set_automatic", 0);
}

}  // namespace
