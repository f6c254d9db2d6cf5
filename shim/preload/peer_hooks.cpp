// Peer access: what a program is told about devices that could use each other's memory.
//
// Blocks are mapped for their own device alone (docs/decisions/0017-no-peers.md), so between two
// devices that hold blocks there is no peer access. A program that is told so copies instead, which
// works. Where it is asked before both hold blocks, the driver answers: a process that keeps to one
// device, of several such processes, reaches the others by memory of another kind (NCCL's own), and
// every one of them has to get the same answer. NCCL with ranks on several devices of this process is
// told of none at any time: it asks once, and may reach into blocks later. To enable it, for all that is
// ever allocated, is refused at any time.
#include <algorithm>
#include <atomic>
#include <span>

#include "cuda_api.hpp"
#include "lifecycle.hpp"
#include "nccl_ranks.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

bool both_hold_blocks(CUdevice device, CUdevice peer) {
  return several_devices() && device != peer && home_of(device) != nullptr &&
         home_of(peer) != nullptr;
}

bool are_no_peers(CUdevice device, CUdevice peer) {
  if (both_hold_blocks(device, peer)) return true;
  return ranks_share_process() && device != peer && attend() != TESSERA_NOT_SUPPORTED;
}

// Whether what is allocated in `context`, of another device than the current one, is managed or
// will be.
bool is_managed_peer(CUcontext context) {
  CUdevice own = -1;
  CUdevice peer = -1;
  if (call_true(&TrueDriver::cuCtxGetDevice, &own) != CUDA_SUCCESS ||
      call_true(&TrueDriver::cuCtxPushCurrent_v2, context) != CUDA_SUCCESS) {
    return false;
  }
  const CUresult told = call_true(&TrueDriver::cuCtxGetDevice, &peer);
  (void)call_true(&TrueDriver::cuCtxPopCurrent_v2, &context);
  if (told != CUDA_SUCCESS || own == peer) return false;
  return home_of(peer) == nullptr || home_of(peer) == context;
}

// Of which device it is the default pool, whose blocks are ours; -1 for other pools.
CUdevice device_of_default(CUmemoryPool pool) {
  CUmemoryPool usual = nullptr;
  for (CUdevice device = 0;
       call_true(&TrueDriver::cuDeviceGetDefaultMemPool, &usual, device) == CUDA_SUCCESS;
       ++device) {
    if (usual == pool) return device;
  }
  return -1;
}

void say_no_peers() {
  static constinit std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  say("no peer access: kernels use the blocks of their own device alone, copies those of all");
}

}  // namespace

TESSERA_HOOK cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  const CUresult result = call_true(&TrueDriver::cuDeviceCanAccessPeer, can, device, peer);
  if (result == CUDA_SUCCESS && are_no_peers(device, peer)) *can = 0;
  return result;
}

// All of them are about access, but for how fast the link is.
TESSERA_HOOK cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device,
                                     CUdevice peer) {
  const CUresult result =
      call_true(&TrueDriver::cuDeviceGetP2PAttribute, value, attribute, device, peer);
  if (result == CUDA_SUCCESS && attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK &&
      are_no_peers(device, peer)) {
    *value = 0;
  }
  return result;
}

TESSERA_HOOK cuDeviceGetP2PAtomicCapabilities(unsigned* capabilities,
                                              const CUatomicOperation* operations, unsigned count,
                                              CUdevice device, CUdevice peer) {
  const CUresult result = call_true(&TrueDriver::cuDeviceGetP2PAtomicCapabilities, capabilities,
                                    operations, count, device, peer);
  if (result == CUDA_SUCCESS && are_no_peers(device, peer)) {
    std::fill_n(capabilities, count, 0U);
  }
  return result;
}

TESSERA_HOOK cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  if (flags == 0 && attend() == TESSERA_OK && is_managed_peer(peer)) {
    say_no_peers();
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  return call_true(&TrueDriver::cuCtxEnablePeerAccess, peer, flags);
}

TESSERA_HOOK cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, std::size_t count) {
  const CUdevice own = map != nullptr && attend() == TESSERA_OK ? device_of_default(pool) : -1;
  const auto gives_access = [own](const CUmemAccessDesc& each) {
    return each.location.type == CU_MEM_LOCATION_TYPE_DEVICE && each.location.id != own &&
           each.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  };
  const std::span wanted(map, own >= 0 ? count : 0);
  if (std::any_of(wanted.begin(), wanted.end(), gives_access)) {
    say_no_peers();
    return CUDA_ERROR_INVALID_VALUE;  // the one error that is documented
  }
  return call_true(&TrueDriver::cuMemPoolSetAccess, pool, map, count);
}
