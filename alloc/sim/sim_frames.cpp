#include "sim/sim_frames.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "driver/native_codes.hpp"
#include "sim/sim_hardware.hpp"
#include "sim/sim_store.hpp"
#include "sim/virtual_hardware.hpp"

namespace tessera {
namespace {

Status unknown_frame(std::string_view action, FrameId frame) {
  return {Code::kDriver, fmt::format("{} of frame {:#x}, which does not exist", action, frame.value()),
          native::kInvalidHandle};
}

Status taken_by_others(DeviceId device, Bytes bytes) {
  return {Code::kOutOfMemory,
          fmt::format("a frame of {} bytes on device {}: not free beside what other processes use", bytes.value(),
                      device.value()),
          native::kOutOfMemory};
}

// The position of a shared file: where the frame lies, in whole units, and below that its device, or that it
// is the host's, and its size in units.
constexpr std::uint64_t kUnit = 2 << 20;
constexpr std::uint64_t kMostUnits = 1 << 15;
constexpr std::uint64_t kHost = kUnit / kMostUnits - 1;

std::uint64_t position_of(const SimFrames::Frame& frame) {
  const std::uint64_t where = frame.location == FrameLocation::kHost ? kHost : frame.device.value();
  return frame.offset.value() + where * kMostUnits + frame.bytes.value() / kUnit;
}

std::unique_ptr<SimPool> make_pool(const SimOptions& options, std::string name, Bytes capacity) {
  if (options.contents == SimContents::kNone) {
    return std::make_unique<SimCount>(std::move(name), capacity);
  }
  return std::make_unique<SimStore>(std::move(name), capacity, options.granularity);
}

SimCommonMemory* common_of(const SimOptions& options) {
  if (options.hardware != nullptr) return options.hardware;
  return options.virtual_hardware;
}

}  // namespace

SimFrames::SimFrames(const SimOptions& options)
    : host_(make_pool(options, "the host", options.host_memory)), common_(common_of(options)) {
  for (int i = 0; i < options.devices; ++i) {
    devices_.push_back(make_pool(options, fmt::format("device {}", i), options.memory));
  }
}

SimFrames::~SimFrames() = default;

SimPool& SimFrames::store(DeviceId device, FrameLocation location) const {
  return location == FrameLocation::kHost ? *host_ : *devices_[device.value()];
}

Result<FrameId> SimFrames::create(DeviceId device, FrameLocation location, Bytes bytes) {
  const bool shared = common_ != nullptr && location == FrameLocation::kDevice;
  if (shared && !common_->take(device, bytes)) return taken_by_others(device, bytes);
  const auto offset = store(device, location).take(bytes);
  if (!offset.is_ok()) {
    if (shared) common_->give(device, bytes);
    return offset.status();
  }
  const FrameId id(next_frame_++);
  frames_[id] = Frame{.id = id, .device = device, .location = location, .bytes = bytes, .offset = offset.value()};
  return id;
}

const SimFrames::Frame* SimFrames::find(FrameId frame) const {
  const auto found = frames_.find(frame);
  return found == frames_.end() ? nullptr : &found->second;
}

SimFrames::Frame* SimFrames::find(FrameId frame) { return const_cast<Frame*>(std::as_const(*this).find(frame)); }

Status SimFrames::destroy(FrameId frame) {
  const auto found = frames_.find(frame);
  if (found == frames_.end() || found->second.owners == 0) return unknown_frame("destroy", frame);
  --found->second.owners;
  free_if_unused(found->second);
  return {};
}

Status SimFrames::retain(FrameId frame) {
  const auto found = frames_.find(frame);
  if (found == frames_.end()) return unknown_frame("retain", frame);
  ++found->second.owners;
  return {};
}

Status SimFrames::make_shareable(FrameId frame) {
  Frame* const known = find(frame);
  if (known == nullptr) return unknown_frame("share", frame);
  known->shareable = true;
  return {};
}

Result<int> SimFrames::share(FrameId frame) const {
  const Frame* const known = find(frame);
  if (known == nullptr) return unknown_frame("share", frame);
  if (!known->shareable && known->file < 0) {
    return Status(Code::kDriver, "share of a frame that was not created as shareable", native::kInvalidValue);
  }
  const std::uint64_t units = known->bytes.value() / kUnit;
  const bool fits = known->bytes.value() % kUnit == 0 && units < kMostUnits && known->offset.value() % kUnit == 0 &&
                    known->device.value() < kHost;
  const int file = fits && known->file < 0 ? store(known->device, known->location).share() : -1;
  if (file < 0) {
    return Status(Code::kNotSupported, "a frame cannot be shared", native::kNotSupported);
  }
  ::lseek(file, static_cast<off_t>(position_of(*known)), SEEK_SET);
  return file;
}

Result<int> SimFrames::share_all(DeviceId device, FrameLocation location) const {
  const int file = store(device, location).share();
  if (file >= 0) return file;
  return Status(Code::kNotSupported, "memory cannot be shared", native::kNotSupported);
}

Result<FrameId> SimFrames::adopt(int file) {
  const auto position = static_cast<std::uint64_t>(std::max<off_t>(::lseek(file, 0, SEEK_CUR), 0));
  const std::uint64_t where = position % kUnit / kMostUnits;
  return adopt(file, {.device = DeviceId(where == kHost ? 0 : where),
                      .location = where == kHost ? FrameLocation::kHost : FrameLocation::kDevice,
                      .offset = Bytes(position / kUnit * kUnit),
                      .bytes = Bytes(position % kMostUnits * kUnit)});
}

Result<FrameId> SimFrames::adopt(int file, const SimPlace& place) {
  struct stat found {};
  const bool known = place.bytes != Bytes() && place.device.value() < devices_.size() && ::fstat(file, &found) == 0 &&
                     place.offset + place.bytes <= Bytes(static_cast<std::uint64_t>(found.st_size));
  const int own = known ? ::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
  if (own < 0) {
    return Status(Code::kDriver, "not a frame of another process", native::kInvalidHandle);
  }
  const FrameId id(next_frame_++);
  frames_[id] = Frame{.id = id,
                      .device = place.device,
                      .location = place.location,
                      .bytes = place.bytes,
                      .offset = place.offset,
                      .file = own};
  return id;
}

void SimFrames::remove_mapping(Frame& frame) {
  --frame.mappings;
  free_if_unused(frame);
}

void SimFrames::free_if_unused(const Frame& frame) {
  if (frame.owners > 0 || frame.mappings > 0) return;
  if (frame.file >= 0) {
    ::close(frame.file);
  } else {
    store(frame.device, frame.location).give(frame.offset, frame.bytes);
    if (common_ != nullptr && frame.location == FrameLocation::kDevice) common_->give(frame.device, frame.bytes);
  }
  frames_.erase(frame.id);
}

bool SimFrames::show(const Frame& frame, void* at) const {
  if (frame.file < 0) return store(frame.device, frame.location).show(frame.offset, frame.bytes, at);
  return ::mmap(at, frame.bytes.value(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, frame.file,
                static_cast<off_t>(frame.offset.value())) != MAP_FAILED;
}

bool SimFrames::hide(const Frame& frame, void* at) const {
  if (frame.file >= 0) return true;
  return store(frame.device, frame.location).hide(frame.offset, frame.bytes, at);
}

MemoryInfo SimFrames::info(DeviceId device) const {
  const SimPool& memory = *devices_[device.value()];
  const Bytes free = common_ == nullptr ? memory.capacity() - memory.used() : common_->free(device);
  return {.free = free, .total = memory.capacity()};
}

std::vector<std::string> SimFrames::leaks() const {
  std::vector<std::string> lines;
  for (const auto& [id, frame] : frames_) {
    lines.push_back(fmt::format("frame {:#x} of {} bytes ({} owners, {} mappings)", id.value(), frame.bytes.value(),
                                frame.owners, frame.mappings));
  }
  std::ranges::sort(lines);
  return lines;
}

Status SimFrames::validate() const {
  std::map<const SimPool*, Bytes> sums;
  for (const auto& [id, frame] : frames_) {
    if (frame.file < 0) sums[&store(frame.device, frame.location)] += frame.bytes;
    if (frame.owners == 0 && frame.mappings == 0) {
      return {Code::kInternal, fmt::format("frame {:#x} has no owner", id.value())};
    }
  }
  const auto matches = [&](const SimPool& memory) {
    return sums[&memory] == memory.used() && memory.used() <= memory.capacity();
  };
  bool all_match = matches(*host_);
  for (const auto& device : devices_) all_match = all_match && matches(*device);
  if (!all_match) return {Code::kInternal, "the frames do not add up to the bytes in use"};
  return {};
}

}  // namespace tessera
