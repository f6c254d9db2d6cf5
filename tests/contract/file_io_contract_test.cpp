#include "file_io_contract.hpp"

#include <memory>

#include "lab/fuzz/stamp_file_io.hpp"
#include "no_threads.hpp"
#include "sim/virtual_file_io.hpp"
#include "tier/thread_io.hpp"
#include "tier/uring_io.hpp"

namespace tessera::contract {
namespace {

template <class Io>
std::unique_ptr<FileIo> opened() {
  auto io = Io::open(::testing::TempDir(), kFile);
  return io.is_ok() ? io.take() : nullptr;
}

struct RealMachine {
  FileIo* io() { return file.get(); }
  void idle() { std::this_thread::yield(); }
  void finish() { file.reset(); }

  std::unique_ptr<FileIo> file;
};

struct UringMachine : RealMachine {
  UringMachine() { file = opened<UringIo>(); }
};
struct ThreadMachine : RealMachine {
  ThreadMachine() { file = opened<ThreadIo>(); }
};
// For machines where not even threads can be created.
struct CallMachine : RealMachine {
  CallMachine() {
    const NoThreads none;
    file = opened<ThreadIo>();
  }
};

constexpr LinkSpeed kSpeed{1'000'000'000, {}};

struct ModelMachine {
  FileIo* io() { return file.get(); }
  void idle() { clock.run_until(clock.now() + Nanoseconds(1'000'000)); }
  void finish() { file.reset(); }

  VirtualClock clock;
  std::unique_ptr<FileIo> file = std::make_unique<VirtualFileIo>(clock, kSpeed, kSpeed);
};
struct StampMachine : ModelMachine {
  StampMachine() { file = std::make_unique<StampFileIo>(clock, memory, kSpeed, kSpeed); }
  ~StampMachine() { file.reset(); }

  StampMemory memory;
};

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(UringIo, FileIoContract, UringMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(ThreadIo, FileIoContract, ThreadMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(Calls, FileIoContract, CallMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(VirtualFileIo, FileIoContract, ModelMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(StampFileIo, FileIoContract, StampMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(UringIo, DiskFileIoContract, UringMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(ThreadIo, DiskFileIoContract, ThreadMachine);
INSTANTIATE_TYPED_TEST_SUITE_P(Calls, DiskFileIoContract, CallMachine);

}  // namespace tessera::contract
