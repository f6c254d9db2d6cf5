// Launches: every block that a parameter points into is in device memory before the kernel starts.
//
// Each naturally aligned word of the parameters is compared with the managed range, at every
// launch; words inside it go to Tessera, which knows the live blocks.
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "cuda_api.hpp"
#include "kernel_layouts.hpp"
#include "managed_use.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// The words of one launch that lie in the managed range.
class FoundWords {
 public:
  void scan(const void* bytes, std::size_t words) {
    const char* at = static_cast<const char*>(bytes);
    for (std::size_t i = 0; i < words; ++i, at += kWord) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, kWord);
      if (managed(word)) add(word);
    }
  }

  std::span<const std::uint64_t> words() const {
    return count_ <= few_.size() ? std::span(few_.data(), count_) : std::span(many_);
  }

 private:
  void add(std::uint64_t word) {
    if (count_ < few_.size()) {
      few_[count_] = word;
    } else {
      if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
      many_.push_back(word);
    }
    ++count_;
  }

  std::array<std::uint64_t, 64> few_;  // the first count_ are set
  std::vector<std::uint64_t> many_;    // all of them, once there are more
  std::size_t count_ = 0;
};

// The packed parameters in `extra`, if that is how they come.
std::span<const char> packed_parameters(void** extra) {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  for (; extra != nullptr && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) begin = static_cast<const char*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<std::size_t*>(extra[1]);
    if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER && extra[0] != CU_LAUNCH_PARAM_BUFFER_SIZE) {
      break;
    }
  }
  return begin != nullptr ? std::span(begin, bytes) : std::span<const char>();
}

template <class Call>
CUresult launch(CUfunction function, void** parameters, void** extra, CUstream stream, Call call) {
  if (running() == nullptr) return call();
  FoundWords found;
  const std::span<const char> packed = packed_parameters(extra);
  found.scan(packed.data(), packed.size() / kWord);
  const char* name = nullptr;
  const CUresult known = kernel_layouts().visit(function, [&](const KernelLayout& layout) {
    name = layout.name;
    if (parameters == nullptr) return;
    for (const WideParameter& parameter : layout.parameters) {
      found.scan(parameters[parameter.index], parameter.words);
    }
  });
  if (known != CUDA_SUCCESS) return known;
  if (found.words().empty()) return call();
  const ManagedUse use(found.words(), stream, name);
  return use.status() == CUDA_SUCCESS ? call() : use.status();
}

}  // namespace

TESSERA_HOOK_PTSZ(cuLaunchKernel,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   CUstream given, void** parameters, void** extra), {
  return launch(function, parameters, extra, stream, [&] {
    return call_true(True, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                     shared_bytes, given, parameters, extra);
  });
})

TESSERA_HOOK_PTSZ(cuLaunchCooperativeKernel,
                  (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   CUstream given, void** parameters), {
  return launch(function, parameters, nullptr, stream, [&] {
    return call_true(True, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                     shared_bytes, given, parameters);
  });
})

TESSERA_HOOK cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                              void** parameters, void** extra) {
  const auto call = [&] {
    return call_true(&TrueDriver::cuLaunchKernelEx, config, function, parameters, extra);
  };
  if (config == nullptr) return call();
  const CUstream stream = config->hStream != nullptr ? config->hStream : CU_STREAM_LEGACY;
  return launch(function, parameters, extra, stream, call);
}

TESSERA_HOOK cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function,
                                   void** parameters, void** extra) {
  const auto call = [&] {
    return call_true(&TrueDriver::cuLaunchKernelEx_ptsz, config, function, parameters, extra);
  };
  if (config == nullptr) return call();
  const CUstream stream = config->hStream != nullptr ? config->hStream : CU_STREAM_PER_THREAD;
  return launch(function, parameters, extra, stream, call);
}
