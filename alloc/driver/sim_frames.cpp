#include "driver/sim_frames.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "driver/native_codes.hpp"
#include "driver/sim_store.hpp"

namespace tessera {
namespace {

Status unknown_frame(std::string_view action, FrameId frame) {
  return {Code::kDriver,
          fmt::format("{} of frame {:#x}, which is not there", action, frame.value()),
          native::kInvalidHandle};
}

std::unique_ptr<SimPool> make_pool(const SimOptions& options, std::string name, Bytes capacity) {
  if (options.contents == SimContents::kNone) {
    return std::make_unique<SimCount>(std::move(name), capacity);
  }
  return std::make_unique<SimStore>(std::move(name), capacity, options.granularity);
}

}  // namespace

SimFrames::SimFrames(const SimOptions& options)
    : host_(make_pool(options, "the host", options.host_memory)) {
  for (int i = 0; i < options.devices; ++i) {
    devices_.push_back(make_pool(options, fmt::format("device {}", i), options.memory));
  }
}

SimFrames::~SimFrames() = default;

SimPool& SimFrames::store(DeviceId device, FrameLocation location) const {
  return location == FrameLocation::kHost ? *host_ : *devices_[device.value()];
}

Result<FrameId> SimFrames::create(DeviceId device, FrameLocation location, Bytes bytes) {
  TESSERA_TRY_ASSIGN(const Bytes offset, store(device, location).take(bytes));
  const FrameId id(next_frame_++);
  frames_[id] = Frame{.id = id, .device = device, .location = location, .bytes = bytes, .offset = offset};
  return id;
}

const SimFrames::Frame* SimFrames::find(FrameId frame) const {
  const auto found = frames_.find(frame);
  return found == frames_.end() ? nullptr : &found->second;
}

SimFrames::Frame* SimFrames::find(FrameId frame) {
  return const_cast<Frame*>(std::as_const(*this).find(frame));
}

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

void SimFrames::remove_mapping(Frame& frame) {
  --frame.mappings;
  free_if_unused(frame);
}

void SimFrames::free_if_unused(const Frame& frame) {
  if (frame.owners > 0 || frame.mappings > 0) return;
  store(frame.device, frame.location).give(frame.offset, frame.bytes);
  frames_.erase(frame.id);
}

bool SimFrames::show(const Frame& frame, void* at) const {
  return store(frame.device, frame.location).show(frame.offset, frame.bytes, at);
}

bool SimFrames::hide(const Frame& frame, void* at) const {
  return store(frame.device, frame.location).hide(frame.offset, frame.bytes, at);
}

MemoryInfo SimFrames::info(DeviceId device) const {
  const SimPool& memory = *devices_[device.value()];
  return {.free = memory.capacity() - memory.used(), .total = memory.capacity()};
}

std::vector<std::string> SimFrames::leaks() const {
  std::vector<std::string> lines;
  for (const auto& [id, frame] : frames_) {
    lines.push_back(fmt::format("frame {:#x} of {} bytes ({} owners, {} mappings)", id.value(),
                                frame.bytes.value(), frame.owners, frame.mappings));
  }
  std::ranges::sort(lines);
  return lines;
}

Status SimFrames::validate() const {
  std::map<const SimPool*, Bytes> sums;
  for (const auto& [id, frame] : frames_) {
    sums[&store(frame.device, frame.location)] += frame.bytes;
    if (frame.owners == 0 && frame.mappings == 0) {
      return {Code::kInternal, fmt::format("frame {:#x} is kept by nobody", id.value())};
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
