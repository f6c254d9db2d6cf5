// Software devices that several processes share: one amount of memory, engines in turns, and nothing left of a process
// that was killed.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <thread>

#include <fmt/core.h>

#include "shared_devices.hpp"
#include "softcuda_library.hpp"

namespace {

using tessera::Bytes;
using tessera::DeviceId;
using tessera::SimEngine;
using tessera::softcuda::SharedDevices;
using tessera::operator""_MiB;

constexpr std::size_t kMiB = 1 << 20;

// What the processes of a test tell each other.
struct Board {
  std::atomic<std::uint32_t> inside, overlaps, step;
  std::array<std::atomic<std::uint32_t>, 4> rounds;
  int go;  // read by a kernel
};

class SharedDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    board_ = new (page) Board{};
    ::setenv("TESSERA_SOFTWARE_SHARED", name_.c_str(), 1);
    ::setenv("TESSERA_SOFTWARE_MEMORY", "64MiB", 1);
    ::setenv("TESSERA_SOFTWARE_DEVICES", "1", 1);
  }
  ~SharedDevice() override {
    for (const pid_t child : children_) end(child);
    std::filesystem::remove(fmt::format("/dev/shm/tessera-softcuda-{}-{}", ::geteuid(), name_));
    if (board_ != nullptr) ::munmap(board_, 4096);
  }

  pid_t start(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      body();
      std::fflush(stdout);
      ::_exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    EXPECT_GT(child, 0);
    children_.push_back(child);
    return child;
  }
  void end(pid_t child) {
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  }
  void expect_success(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::erase(children_, child);
  }
  // Between processes; a test that fails elsewhere ends by its time limit.
  void wait_for(const std::function<bool()>& holds) const {
    while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void wait_for_step(std::uint32_t step) const {
    wait_for([&] { return board_->step >= step; });
  }

  std::unique_ptr<SharedDevices> devices() const {
    auto opened = SharedDevices::open(name_, 1, 64_MiB);
    EXPECT_TRUE(opened.is_ok()) << opened.status().to_string();
    return opened.is_ok() ? opened.take() : nullptr;
  }
  static void use_device() {
    CUcontext context = nullptr;
    ASSERT_NE(softcuda_test::library(), nullptr);
    ASSERT_OK(CU(cuInit)(0));
    ASSERT_OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
    ASSERT_OK(CU(cuCtxSetCurrent)(context));
  }
  static std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    EXPECT_OK(CU(cuMemGetInfo)(&free, &total));
    EXPECT_EQ(total, 64 * kMiB);
    return free;
  }
  static CUresult create(std::size_t bytes, CUmemGenericAllocationHandle& handle) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return CU(cuMemCreate)(&handle, bytes, &wanted, 0);
  }
  static CUfunction kernel(const char* name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_OK(CU(cuModuleLoad)(&module, softcuda_test::build_path("lib/tessera/probe_kernels.so").c_str()));
    EXPECT_OK(CU(cuModuleGetFunction)(&function, module, name));
    return function;
  }

  const std::string name_ = fmt::format("test-{}-{}", ::getpid(), ::testing::UnitTest::GetInstance()->random_seed());
  std::vector<pid_t> children_;
  Board* board_ = nullptr;
};

TEST_F(SharedDevice, HasOneAmountOfMemoryForAllProcesses) {
  const pid_t other = start([&] {
    use_device();
    CUdeviceptr address = 0;
    EXPECT_OK(CU(cuMemAlloc)(&address, 40 * kMiB));
    board_->step = 1;
    wait_for_step(2);
    EXPECT_EQ(free_memory(), 8 * kMiB);
    EXPECT_OK(CU(cuMemFree)(address));
    EXPECT_EQ(free_memory(), 48 * kMiB);
    board_->step = 3;
  });
  const pid_t one = start([&] {
    wait_for_step(1);
    use_device();
    EXPECT_EQ(free_memory(), 24 * kMiB);
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(CU(cuMemAlloc)(&address, 26 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(create(26 * kMiB, handle), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_OK(create(16 * kMiB, handle));
    board_->step = 2;
    wait_for_step(3);
    EXPECT_OK(CU(cuMemAlloc)(&address, 48 * kMiB));
    EXPECT_EQ(free_memory(), 0U);
    EXPECT_OK(CU(cuMemFree)(address));
    EXPECT_OK(CU(cuMemRelease)(handle));
  });
  expect_success(other);
  expect_success(one);
}

TEST_F(SharedDevice, HasOneUuidInAllProcesses) {
  const auto tell = [&](std::uint32_t step) {
    use_device();
    CUuuid uuid{};
    EXPECT_OK(CU(cuDeviceGetUuid)(&uuid, 0));
    std::uint32_t words[4];
    std::memcpy(words, uuid.bytes, sizeof(words));
    for (std::size_t i = 0; i < 4; ++i) {
      if (step == 0) board_->rounds[i] = words[i];
      board_->overlaps += board_->rounds[i] != words[i] ? 1 : 0;
    }
  };
  expect_success(start([&] { tell(0); }));
  expect_success(start([&] { tell(1); }));
  EXPECT_EQ(board_->overlaps, 0U);
  ::setenv("TESSERA_SOFTWARE_SHARED", "", 1);
  expect_success(start([&] { tell(1); }));
  EXPECT_GT(board_->overlaps, 0U) << "a device of its own is another";
}

TEST_F(SharedDevice, AnotherSizeThanThatOfTheFirstProcessIsRefused) {
  const auto first = devices();
  ASSERT_NE(first, nullptr);
  expect_success(start([&] {
    ::setenv("TESSERA_SOFTWARE_MEMORY", "32MiB", 1);
    EXPECT_EQ(CU(cuInit)(0), CUDA_ERROR_INVALID_VALUE);
  }));
  EXPECT_FALSE(SharedDevices::open("no/name", 1, 64_MiB).is_ok());
}

TEST_F(SharedDevice, WhatAProcessHeldIsFreeWhereverItIsKilled) {
  const auto own = devices();
  ASSERT_NE(own, nullptr);
  for (std::uint32_t time = 0; time < 30; ++time) {
    board_->step = 0;
    const pid_t child = start([&] {
      const auto used = devices();
      for (std::uint32_t i = 0;; ++i) {
        if (!used->take(DeviceId(), 32_MiB)) ::_exit(1);
        used->enter(DeviceId(), SimEngine::kCompute);
        board_->step = 1;
        used->leave(DeviceId(), SimEngine::kCompute, i % 2 == 0);
        used->give(DeviceId(), 32_MiB);
      }
    });
    wait_for_step(1);
    std::this_thread::sleep_for(std::chrono::microseconds(time * 37));
    end(child);
    children_.clear();
    EXPECT_EQ(own->free(DeviceId()), 64_MiB);
    EXPECT_TRUE(own->take(DeviceId(), 64_MiB));
    own->enter(DeviceId(), SimEngine::kCompute);
    own->leave(DeviceId(), SimEngine::kCompute, false);
    own->give(DeviceId(), 64_MiB);
  }
}

// Of a copy engine: a block of a kernel that is slower than the patience does not keep others waiting.
TEST_F(SharedDevice, AnEngineServesOneProcessAtATimeAndEachInTurn) {
  for (std::size_t i = 0; i < 3; ++i) {
    start([&, i] {
      const auto used = devices();
      for (;; ++board_->rounds[i]) {
        used->enter(DeviceId(), SimEngine::kInbound);
        if (board_->inside.exchange(1) != 0) ++board_->overlaps;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        board_->inside = 0;
        used->leave(DeviceId(), SimEngine::kInbound, true);
      }
    });
  }
  wait_for([&] { return board_->rounds[0] >= 100 && board_->rounds[1] >= 100 && board_->rounds[2] >= 100; });
  for (const pid_t child : children_) end(child);
  children_.clear();
  EXPECT_EQ(board_->overlaps, 0U);
}

// As on a GPU, where the driver switches between processes: a kernel that waits for one of another process goes on.
TEST_F(SharedDevice, AKernelThatWaitsForAnotherProcessDoesNotKeepItOut) {
  const pid_t waiting = start([&] {
    use_device();
    ASSERT_OK(CU(cuMemHostRegister)(board_, 4096, 0));
    const CUfunction hold = kernel("hold");
    const void* go = &board_->go;
    void* parameters[] = {&go};
    EXPECT_OK(CU(cuLaunchKernel)(hold, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    board_->step = 1;
    EXPECT_OK(CU(cuCtxSynchronize)());
    EXPECT_EQ(*static_cast<volatile int*>(&board_->go), 1);
  });
  const pid_t setting = start([&] {
    wait_for_step(1);
    use_device();
    ASSERT_OK(CU(cuMemHostRegister)(board_, 4096, 0));
    const CUfunction add = kernel("add_to");
    int* target = &board_->go;
    int value = 1, count = 1;
    void* parameters[] = {&target, &value, &count};
    EXPECT_OK(CU(cuLaunchKernel)(add, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    EXPECT_OK(CU(cuCtxSynchronize)());
  });
  expect_success(setting);
  expect_success(waiting);
}

}  // namespace
