#include "shared_events.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <span>
#include <string>

#include <fmt/core.h>

#include "base/descriptor.hpp"
#include "driver/native_codes.hpp"
#include "sim/sim_hardware.hpp"
#include "sim/sim_kernel.h"

namespace tessera::softcuda {
namespace {

using std::chrono::milliseconds;

// The contents of a cuIpcGetEventHandle handle: the process that has the file open, and the file.
struct EventLocation {
  std::uint64_t mark;
  std::int32_t process;
  std::int32_t file;
  std::uint64_t number;  // the inode: the descriptor may refer to another file by now
};
static_assert(sizeof(EventLocation) <= sizeof(CUipcEventHandle));
constexpr std::uint64_t kEventMark = 0x457665787031;

// The job of one of our kernels. Deleted when the kernel ends.
struct Task {
  std::shared_ptr<SharedEvent> event;
  bool waits;
  std::uint64_t number;
};

Status not_mapped(std::string_view what) {
  return {Code::kDriver, fmt::format("{}: {}", what, std::strerror(errno)), native::kMapFailed};
}

std::uint64_t page_number(int file) {
  struct stat found {};
  const bool right = ::fstat(file, &found) == 0 && found.st_size == static_cast<off_t>(sizeof(SharedEvent::Page));
  return right ? found.st_ino : 0;
}

bool lives(std::int32_t process) { return ::kill(process, 0) == 0 || errno == EPERM; }

// Takes ownership of the file.
Result<std::shared_ptr<SharedEvent>> mapped(int file, bool made_here) {
  void* const page = ::mmap(nullptr, sizeof(SharedEvent::Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) {
    return std::make_shared<SharedEvent>(file, static_cast<SharedEvent::Page*>(page), made_here);
  }
  Status status = not_mapped("the page of an event");
  ::close(file);
  return status;
}

}  // namespace

SharedEvent::~SharedEvent() {
  ::munmap(page_, sizeof(Page));
  ::close(file_);
}

Result<std::shared_ptr<SharedEvent>> SharedEvent::make() {
  const int file = away_from_standard(::memfd_create("tessera-event", MFD_CLOEXEC));
  if (file < 0) return not_mapped("no file for an event");
  if (::ftruncate(file, sizeof(Page)) == 0) return mapped(file, true);
  Status status = not_mapped("no memory for an event");
  ::close(file);
  return status;
}

Result<std::shared_ptr<SharedEvent>> SharedEvent::open(const CUipcEventHandle& handle) {
  EventLocation told;
  std::memcpy(&told, &handle, sizeof(told));
  if (told.mark != kEventMark) return Status(Code::kDriver, "not the handle of an event", native::kInvalidHandle);
  const std::string path = fmt::format("/proc/{}/fd/{}", told.process, told.file);
  const int file = away_from_standard(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file >= 0 && page_number(file) == told.number) return mapped(file, false);
  if (file >= 0) ::close(file);
  return Status(Code::kDriver, "the event of another process is gone", native::kMapFailed);
}

Result<CUipcEventHandle> SharedEvent::handle() const {
  if (!made_here_) return Status(Code::kDriver, "another process made this event", native::kInvalidHandle);
  const EventLocation told{.mark = kEventMark, .process = ::getpid(), .file = file_, .number = page_number(file_)};
  CUipcEventHandle handle{};
  std::memcpy(&handle, &told, sizeof(told));
  return handle;
}

Status SharedEvent::record(SimDriver& driver, StreamId stream) {
  const std::uint64_t number = page_->recorded.fetch_add(1) + 1;
  page_->recorder = ::getpid();
  Status queued = queue(driver, stream, false, number);
  if (!queued.is_ok()) pass(number);
  return queued;
}

Status SharedEvent::wait(SimDriver& driver, StreamId stream) {
  const std::uint64_t number = page_->recorded;
  return passed(number) ? Status() : queue(driver, stream, true, number);
}

void SharedEvent::sleep(milliseconds most) const {
  const std::uint32_t heard = page_->bell;
  if (passed()) return;
  const timespec limit{.tv_sec = most.count() / 1000, .tv_nsec = most.count() % 1000 * 1000000};
  ::syscall(SYS_futex, &page_->bell, FUTEX_WAIT, heard, &limit, nullptr, 0);
}

bool SharedEvent::passed(std::uint64_t number) const { return page_->passed >= number || !lives(page_->recorder); }

void SharedEvent::pass(std::uint64_t number) {
  std::uint64_t before = page_->passed;
  while (before < number && !page_->passed.compare_exchange_weak(before, number)) {
  }
  ++page_->bell;
  ::syscall(SYS_futex, &page_->bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

int SharedEvent::run(const void* parameters) {
  Task* given = nullptr;
  std::memcpy(&given, parameters, sizeof(given));
  const std::unique_ptr<Task> task(given);
  SharedEvent& event = *task->event;
  if (!task->waits) event.pass(task->number);
  // Waiting takes no time of the device, or what is waited for could not run.
  const SimTurn::Outside outside;
  while (task->waits && !event.passed(task->number)) event.sleep(milliseconds(100));
  return 0;
}

Status SharedEvent::queue(SimDriver& driver, StreamId stream, bool waits, std::uint64_t number) {
  static constexpr sim_parameter kTask{.offset = 0, .size = sizeof(Task*)};
  static constexpr sim_kernel kKernel{
      .abi_version = SIM_KERNEL_ABI_VERSION,
      .name = "event of several processes",
      .run_block = [](const sim_block*, const void* parameters) { return run(parameters); },
      .parameter_count = 1,
      .parameters = &kTask,
      .parameter_bytes = sizeof(Task*)};
  auto task = std::make_unique<Task>(Task{shared_from_this(), waits, number});
  Task* const given = task.get();
  Launch launch;
  launch.kernel = &kKernel;
  launch.parameters = std::as_bytes(std::span(&given, 1));
  Status queued = driver.launch(launch, stream);
  if (queued.is_ok()) task.release();  // NOLINT: the kernel owns it
  return queued;
}

}  // namespace tessera::softcuda
