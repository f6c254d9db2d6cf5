#include "green_shares.hpp"

#include <algorithm>
#include <cstring>

namespace tessera::softcuda {
namespace {

constexpr std::uint64_t kResourceMark = 0x53686172657331;

TesseraDevResource marked(DeviceId device, int type) {
  TesseraDevResource made{};
  const std::uint64_t words[] = {kResourceMark, device.value()};
  made.type = type;
  std::memcpy(made.internal, words, sizeof(words));
  return made;
}

}  // namespace

unsigned group_unit(std::uint64_t multiprocessors) {
  return static_cast<unsigned>(std::min<std::uint64_t>(multiprocessors, 8));
}

TesseraDevResource multiprocessors_of(DeviceId device, unsigned count, unsigned alignment) {
  TesseraDevResource made = marked(device, CU_DEV_RESOURCE_TYPE_SM);
  made.of.sm.count = count;
  made.of.sm.least = alignment;
  made.of.sm.alignment = alignment;
  return made;
}

TesseraDevResource queue_settings_of(DeviceId device, unsigned limit, int scope) {
  TesseraDevResource made = marked(device, TESSERA_RESOURCE_QUEUE_SETTINGS);
  made.of.queues.device = static_cast<CUdevice>(device.value());
  made.of.queues.limit = limit;
  made.of.queues.scope = scope;
  return made;
}

TesseraDevResource queues_of(DeviceId device) { return marked(device, TESSERA_RESOURCE_QUEUES); }

bool is_of(const TesseraDevResource& resource, DeviceId& device) {
  std::uint64_t words[2];
  std::memcpy(words, resource.internal, sizeof(words));
  device = DeviceId(words[1]);
  return words[0] == kResourceMark;
}

CUdevResourceDesc GreenShares::describe(const Described& what) {
  const MutexLock lock(mutex_);
  all_.push_back(what);
  return reinterpret_cast<CUdevResourceDesc>(&all_.back());
}

std::optional<GreenShares::Described> GreenShares::find(CUdevResourceDesc description) {
  const MutexLock lock(mutex_);
  const auto* const wanted = reinterpret_cast<const Described*>(description);
  const auto known = std::find_if(all_.begin(), all_.end(), [&](const Described& each) { return &each == wanted; });
  return known != all_.end() ? std::optional(*known) : std::nullopt;
}

}  // namespace tessera::softcuda
