// Addresses that the driver resolves when a call records them in a graph, or instantiates the graph: those of copies
// and sets. Nothing runs yet, but the driver asks what memory lies there, and refuses the call if none is mapped
// (docs/realism.md). During the call, placeholders are mapped for blocks that are away. Kernels' parameters are not
// resolved.
//
// Thread safety: an object belongs to the thread that made it; the functions are pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda_api.hpp"
#include "lifecycle.hpp"
#include "true_driver.hpp"

namespace tessera::preload {

class ResolvedAddresses {
 public:
  // Addresses outside live blocks are left to the driver.
  ResolvedAddresses(std::span<const std::uint64_t> addresses, const char* call);
  ~ResolvedAddresses();
  ResolvedAddresses(const ResolvedAddresses&) = delete;
  ResolvedAddresses& operator=(const ResolvedAddresses&) = delete;

  CUresult status() const { return status_; }
  // Whether the driver may have refused the call because a block was evicted during it: a new attempt may succeed.
  bool may_be_outdated(CUresult result) const { return begun_ && result == CUDA_ERROR_INVALID_VALUE; }

 private:
  bool begun_ = false;
  CUresult status_ = CUDA_SUCCESS;
};

// The managed addresses among a node's parameters that the driver resolves. `params` may be null.
std::vector<std::uint64_t> resolved_in(const CUDA_MEMCPY3D_v2* params);
std::vector<std::uint64_t> resolved_in(const CUDA_MEMSET_NODE_PARAMS_v1* params);
std::vector<std::uint64_t> resolved_in(const CUgraphNodeParams* params);
// Those of kernels and memory operations are not.
template <class Other>
std::vector<std::uint64_t> resolved_in(const Other*) {
  return {};
}

// The context for a node of a copy or set. Where the program gives none, the driver takes that of the memory, and the
// memory of blocks has none, unlike that of cuMemAlloc: then it is the current one.
CUcontext context_of_node(CUcontext given, std::span<const std::uint64_t> addresses);

// The program's parameters for a node, or a copy that names that context.
class ParamsInContext {
 public:
  explicit ParamsInContext(CUgraphNodeParams* params);
  ParamsInContext(const ParamsInContext&) = delete;
  ParamsInContext& operator=(const ParamsInContext&) = delete;
  CUgraphNodeParams* get() { return params_; }

 private:
  CUgraphNodeParams* params_;
  CUgraphNodeParams copy_;
};

// Calls the driver while something is mapped at the addresses. The call must have no effect if it fails.
template <class Function, class... Args>
CUresult with_resolved(std::span<const std::uint64_t> addresses, const char* call, Function TrueDriver::*function,
                       Args... args) {
  constexpr int kMostAttempts = 3;
  if (addresses.empty() || Entry::is_inside()) return call_true(function, args...);
  for (int attempt = 1;; ++attempt) {
    const ResolvedAddresses resolved(addresses, call);
    if (resolved.status() != CUDA_SUCCESS) return resolved.status();
    const CUresult result = call_true(function, args...);
    if (!resolved.may_be_outdated(result) || attempt == kMostAttempts) return result;
  }
}

}  // namespace tessera::preload
