#include "exposure.hpp"

#include "capture.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"

namespace tessera::preload {

bool served(CUdeviceptr address) { return managed(address) && running() != nullptr; }

CUresult expose(CUdeviceptr address, const char* reason) {
  if (!served(address)) return CUDA_SUCCESS;
  const Entry entry;
  if (entry.nested()) return CUDA_SUCCESS;
  const InPrimary in_primary;
  return cuda_result_said(tessera_expose(running(), address, reason), reason);
}

CUresult KeptBlocks::add(CUdeviceptr address) {
  if (!served(address)) return CUDA_SUCCESS;
  const Entry entry;
  if (entry.nested()) return CUDA_SUCCESS;
  const InPrimary in_primary;
  const tessera_result pinned = tessera_pin(running(), address);
  if (pinned == TESSERA_OK) pinned_.push_back(address);
  return cuda_result_said(pinned, reason_);
}

CUresult KeptBlocks::add(const WordSpans& words) {
  const Entry entry;
  if (running() == nullptr || entry.nested()) return CUDA_SUCCESS;
  const InPrimary in_primary;
  const auto pin = [this](std::uint64_t word) {
    const tessera_result pinned = tessera_pin(running(), word);
    if (pinned == TESSERA_OK) pinned_.push_back(word);
    return pinned;
  };
  for (const std::uint64_t word : words.certain) {
    const tessera_result pinned = pin(word);  // NOT_FOUND: the word is in no block
    if (pinned != TESSERA_OK && pinned != TESSERA_NOT_FOUND) return cuda_result_said(pinned, reason_);
  }
  for (const std::uint64_t word : words.likely) (void)pin(word);
  for (const std::uint64_t word : words.maybe) (void)pin(word);
  return CUDA_SUCCESS;
}

CUresult KeptBlocks::add_on(CUstream stream, CUdeviceptr address) {
  return served(address) && capturing(stream) ? CUDA_SUCCESS : add(address);
}

// The driver holds the address by now; a block that another thread freed meanwhile no longer has to be held.
CUresult KeptBlocks::after(CUresult result) {
  if (result != CUDA_SUCCESS) return result;
  for (const tessera_address address : pinned_) (void)expose(address, reason_);
  return result;
}

KeptBlocks::~KeptBlocks() {
  const Entry entry;
  for (const tessera_address address : pinned_) {
    if (served(address)) (void)tessera_unpin(running(), address);
  }
}

}  // namespace tessera::preload
