// Launches as before CUDA 4, with one call per parameter, and launches on several devices at once.
//
// A function's parameters are set by separate calls, so they are recorded here as well; an address may be set in two
// halves. A launch on several devices has no single stream for which its blocks could be held: they stay in device
// memory.
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cuda_api.hpp"
#include "driver_room.hpp"
#include "exposure.hpp"
#include "managed_use.hpp"
#include "old_launches.hpp"
#include "parameter_words.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

constexpr std::size_t kMostBytes = 32764;  // CUDA's own limit

std::mutex lock_of_all;

// Never destroyed: programs launch from their own exit handlers.
std::unordered_map<CUfunction, std::vector<char>>& parameters_of_all() {
  static auto& all = *new std::unordered_map<CUfunction, std::vector<char>>;
  return all;
}

void remember_parameter(CUfunction function, int offset, const void* value, std::size_t bytes) {
  const auto begin = static_cast<std::size_t>(offset);
  if (offset < 0 || value == nullptr || begin + bytes > kMostBytes) return;
  const std::lock_guard<std::mutex> lock(lock_of_all);
  std::vector<char>& all = parameters_of_all()[function];
  if (all.size() < begin + bytes) all.resize(begin + bytes);
  std::memcpy(all.data() + begin, value, bytes);
}

// Records what the driver has accepted.
template <class Function, class Value>
CUresult set(Function TrueDriver::*call, CUfunction function, int offset, Value value) {
  const CUresult result = call_true(call, function, offset, value);
  if (result == CUDA_SUCCESS) remember_parameter(function, offset, &value, sizeof(value));
  return result;
}

template <class Call>
CUresult launch(CUfunction function, CUstream stream, Call call) {
  if (running() == nullptr) return call();
  FoundWords found;
  {
    const std::lock_guard<std::mutex> lock(lock_of_all);
    const auto set = parameters_of_all().find(function);
    if (set != parameters_of_all().end()) found.scan(set->second.data(), set->second.size());
  }
  const WordSpans words = found.words();
  if (words.empty() && !has_heap()) return call();
  return with_driver_room({.stream = stream}, [&](bool& ours) {
    const ManagedUse use(words, stream, "cuLaunch");
    ours = use.status() != CUDA_SUCCESS;
    return ours ? use.status() : call();
  });
}

}  // namespace

void tessera::preload::forget_old_parameters() {
  const std::lock_guard<std::mutex> lock(lock_of_all);
  parameters_of_all().clear();
}

TESSERA_HOOK cuParamSeti(CUfunction function, int offset, unsigned value) {
  return set(&TrueDriver::cuParamSeti, function, offset, value);
}

TESSERA_HOOK cuParamSetf(CUfunction function, int offset, float value) {
  return set(&TrueDriver::cuParamSetf, function, offset, value);
}

TESSERA_HOOK cuParamSetv(CUfunction function, int offset, void* value, unsigned bytes) {
  const CUresult result = call_true(&TrueDriver::cuParamSetv, function, offset, value, bytes);
  if (result == CUDA_SUCCESS) remember_parameter(function, offset, value, bytes);
  return result;
}

TESSERA_HOOK cuLaunch(CUfunction function) {
  return launch(function, CU_STREAM_LEGACY, [&] { return call_true(&TrueDriver::cuLaunch, function); });
}

TESSERA_HOOK cuLaunchGrid(CUfunction function, int width, int height) {
  return launch(function, CU_STREAM_LEGACY,
                [&] { return call_true(&TrueDriver::cuLaunchGrid, function, width, height); });
}

TESSERA_HOOK cuLaunchGridAsync(CUfunction function, int width, int height, CUstream given) {
  const CUstream stream = given != nullptr ? given : CU_STREAM_LEGACY;
  return launch(function, stream,
                [&] { return call_true(&TrueDriver::cuLaunchGridAsync, function, width, height, given); });
}

TESSERA_HOOK cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launches, unsigned count, unsigned flags) {
  KeptBlocks kept("cuLaunchCooperativeKernelMultiDevice");
  for (unsigned i = 0; running() != nullptr && launches != nullptr && i < count; ++i) {
    FoundWords found;
    const char* name = nullptr;
    if (!read_parameters(launches[i].function, launches[i].kernelParams, nullptr,
                         {launches[i].gridDimX, launches[i].gridDimY}, found, name)) {
      const CUresult held = hold_everything("cuLaunchCooperativeKernelMultiDevice");
      if (held != CUDA_SUCCESS) return held;
    }
    const CUresult pinned = kept.add(found.words());
    if (pinned != CUDA_SUCCESS) return pinned;
  }
  return kept.after(call_with_room({}, &TrueDriver::cuLaunchCooperativeKernelMultiDevice, launches, count, flags));
}
