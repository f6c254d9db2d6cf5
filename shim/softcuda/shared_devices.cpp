#include "shared_devices.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>

#include <fmt/core.h>

#include "base/descriptor.hpp"

namespace tessera::softcuda {
namespace {

constexpr std::uint64_t kMagic = 0x74657373'64657631;  // changes with the layout
constexpr std::size_t kLongestName = 64;
// Work of a copy engine never waits for other work.
constexpr std::chrono::milliseconds kPatienceForKernels{100};
constexpr std::chrono::minutes kPatienceForCopies{1};

bool is_name(const std::string& name) {
  const auto allowed = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("._-", c); };
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), allowed);
}

// Closed at the end of the scope, without its lock: a mapping of the file would keep that.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ < 0) return;
    ::flock(value_, LOCK_UN);
    ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  const int value_;
};

Status failed(const char* what) {
  return {Code::kIo, fmt::format("shared devices: {}: {}", what, std::strerror(errno))};
}

}  // namespace

struct SharedDevices::Row {
  ProcessId process;  // id 0: the row is free
  std::array<std::atomic<std::uint64_t>, kMostDevices> held;
};

struct SharedDevices::Page {
  std::uint64_t magic;
  std::uint64_t devices;
  std::uint64_t memory;  // of each device
  SharedMutex mutex;
  std::array<Row, kMostProcesses> rows;
  std::array<EngineState, kMostDevices * kSimEngines> engines;
};

Result<std::unique_ptr<SharedDevices>> SharedDevices::open(const std::string& name, int devices, Bytes memory) {
  if (!is_name(name)) {
    return Status(Code::kInvalidArgument, fmt::format("shared devices: '{}' is not a name of 1 to {} characters A-Z "
                                                      "a-z 0-9 . _ -",
                                                      name, kLongestName));
  }
  const std::string path = fmt::format("/dev/shm/tessera-softcuda-{}-{}", ::geteuid(), name);
  const Descriptor file(
      away_from_standard(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR)));
  // Joining is exclusive, so that one process alone finds that there is no other.
  if (file.value() < 0) return failed(path.c_str());
  while (::flock(file.value(), LOCK_EX) != 0) {
    if (errno != EINTR) return failed("lock");
  }
  TESSERA_TRY_ASSIGN(Page* const page, map(file.value()));
  const auto row = join(*page, devices, memory);
  if (row.is_ok()) return std::unique_ptr<SharedDevices>(new SharedDevices(page, row.value(), devices));
  ::munmap(page, sizeof(Page));
  return row.status();
}

Result<SharedDevices::Page*> SharedDevices::map(int file) {
  if (::ftruncate(file, sizeof(Page)) != 0) return failed("size");
  void* const page = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) return failed("map");
  return static_cast<Page*>(page);
}

// Without a living process the devices are new. A row of this very process is from before it called exec.
Result<unsigned> SharedDevices::join(Page& page, int devices, Bytes memory) {
  const ProcessId self = this_process();
  const bool known = page.magic == kMagic;
  std::optional<unsigned> free;
  bool used = false;
  for (unsigned i = kMostProcesses; i-- > 0;) {
    const ProcessId& process = page.rows[i].process;
    const bool alive = known && process.pid != 0 && !(process == self) && life_of(process, self) != Life::kDead;
    used = used || alive;
    if (!alive) free = i;
  }
  if (!used) {
    std::memset(static_cast<void*>(&page), 0, sizeof(Page));
    page.mutex.init();
    page.devices = static_cast<std::uint64_t>(devices);
    page.memory = memory.value();
    page.magic = kMagic;
  }
  if (page.devices != static_cast<std::uint64_t>(devices) || page.memory != memory.value()) {
    return Status(Code::kInvalidArgument, fmt::format("shared devices: there are {} of {} bytes, not {} of {}",
                                                      page.devices, page.memory, devices, memory.value()));
  }
  if (!free) return Status(Code::kOutOfMemory, "shared devices: too many processes");
  page.mutex.lock();
  Row& row = page.rows[*free];
  row.process = {};
  for (auto& held : row.held) held = 0;
  row.process = self;
  page.mutex.unlock();
  return *free;
}

SharedDevices::SharedDevices(Page* page, unsigned row, int devices)
    : page_(page), self_(this_process()), process_{page->mutex, row, [this](unsigned other) {
                                                     const ProcessId& process = page_->rows[other].process;
                                                     return process.pid != 0 && life_of(process, self_) != Life::kDead;
                                                   }} {
  for (std::size_t i = 0; i < static_cast<std::size_t>(devices) * kSimEngines; ++i) {
    const bool kernels = static_cast<SimEngine>(i % kSimEngines) == SimEngine::kCompute;
    const std::chrono::nanoseconds patience =
        kernels ? std::chrono::nanoseconds(kPatienceForKernels) : std::chrono::nanoseconds(kPatienceForCopies);
    turns_.push_back(std::make_unique<EngineTurns>(process_, page->engines[i], patience));
  }
}

SharedDevices::~SharedDevices() {
  page_->mutex.lock();
  page_->rows[process_.row].process = {};
  page_->mutex.unlock();
  ::munmap(page_, sizeof(Page));
}

bool SharedDevices::take(DeviceId device, Bytes bytes) {
  page_->mutex.lock();
  if (free_now(device) < bytes) sweep();
  const bool fits = free_now(device) >= bytes;
  if (fits) page_->rows[process_.row].held[device.value()] += bytes.value();
  page_->mutex.unlock();
  return fits;
}

void SharedDevices::give(DeviceId device, Bytes bytes) {
  page_->mutex.lock();
  page_->rows[process_.row].held[device.value()] -= bytes.value();
  page_->mutex.unlock();
}

Bytes SharedDevices::free(DeviceId device) {
  page_->mutex.lock();
  sweep();
  const Bytes free = free_now(device);
  page_->mutex.unlock();
  return free;
}

Bytes SharedDevices::free_now(DeviceId device) const {
  Bytes held;
  for (const Row& row : page_->rows) {
    if (row.process.pid != 0) held += Bytes(row.held[device.value()]);
  }
  const Bytes memory(page_->memory);
  return memory - std::min(memory, held);
}

// Rows of processes that have ended. What their namespace hides counts as living.
void SharedDevices::sweep() {
  for (unsigned i = 0; i < kMostProcesses; ++i) {
    Row& row = page_->rows[i];
    if (row.process.pid == 0 || i == process_.row || life_of(row.process, self_) != Life::kDead) continue;
    for (EngineState& state : page_->engines) state.waiting.fetch_and(~(std::uint64_t{1} << i));
    row.process = {};
  }
}

}  // namespace tessera::softcuda
