#include "opened_blocks.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constexpr CUmemAllocationHandleType kPieceFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

struct Opened {
  SharedBlock block;
  CUcontext context;
  CUdeviceptr range;
  std::size_t bytes;                // of the range
  std::vector<std::size_t> pieces;  // bytes of each mapped piece, from the range's start on
  unsigned count;                   // opens without a close
  OpenedBy by;
};

std::mutex opened_lock;
constinit std::atomic<std::size_t> opened_count{0};

// Keyed by the address that the program got. Never destroyed: programs close handles in exit handlers.
std::map<CUdeviceptr, Opened>& opened() {
  static auto& all = *new std::map<CUdeviceptr, Opened>;
  return all;
}

CUresult give_access(CUdeviceptr at, std::size_t bytes) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult told = call_true(&TrueDriver::cuCtxGetDevice, &access.location.id);
  if (told != CUDA_SUCCESS) return told;
  const CUmemAccessDesc* const one = &access;
  return call_true(&TrueDriver::cuMemSetAccess, at, bytes, one, std::size_t{1});
}

CUresult map_piece(CUdeviceptr at, const SharedPiece& piece) {
  CUmemGenericAllocationHandle handle = 0;
  // A file descriptor is passed where other handle types pass a pointer.
  void* const file = reinterpret_cast<void*>(static_cast<std::intptr_t>(piece.file));
  CUresult result = call_true(&TrueDriver::cuMemImportFromShareableHandle, &handle, file, kPieceFile);
  if (result != CUDA_SUCCESS) return result;
  result = call_true(&TrueDriver::cuMemMap, at, std::size_t{piece.bytes}, std::size_t{0}, handle, 0ULL);
  (void)call_true(&TrueDriver::cuMemRelease, handle);  // the mapping keeps the memory alive
  if (result != CUDA_SUCCESS) return result;
  result = give_access(at, piece.bytes);
  if (result != CUDA_SUCCESS) (void)call_true(&TrueDriver::cuMemUnmap, at, std::size_t{piece.bytes});
  return result;
}

void unmap(const Opened& from) {
  CUdeviceptr at = from.range;
  for (const std::size_t bytes : from.pieces) {
    (void)call_true(&TrueDriver::cuMemUnmap, at, bytes);
    at += bytes;
  }
  (void)call_true(&TrueDriver::cuMemAddressFree, from.range, from.bytes);
}

CUresult map_all(IncomingBlock& incoming, Opened& to) {
  to.bytes = incoming.bytes();
  CUresult result =
      call_true(&TrueDriver::cuMemAddressReserve, &to.range, to.bytes, std::size_t{0}, CUdeviceptr{0}, 0ULL);
  if (result != CUDA_SUCCESS) return result;
  CUdeviceptr at = to.range;
  result = incoming.take([&](const SharedPiece& piece) {
    const CUresult mapped = map_piece(at, piece);
    if (mapped != CUDA_SUCCESS) return mapped;
    to.pieces.push_back(piece.bytes);
    at += piece.bytes;
    return mapped;
  });
  if (result != CUDA_SUCCESS) unmap(to);
  return result;
}

}  // namespace

CUresult open_block(const SharedBlock& block, OpenedBy by, CUdeviceptr* address) {
  CUcontext context = nullptr;
  CUresult result = call_true(&TrueDriver::cuCtxGetCurrent, &context);
  if (result != CUDA_SUCCESS) return result;
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard<std::mutex> guard(opened_lock);
  for (auto& [known, entry] : opened()) {
    if (entry.block != block || entry.context != context || entry.by != by) continue;
    ++entry.count;
    *address = known;
    return CUDA_SUCCESS;
  }
  IncomingBlock incoming(block);
  if (incoming.bytes() == 0) return CUDA_ERROR_INVALID_HANDLE;
  Opened made{block, context, 0, 0, {}, 1, by};
  result = map_all(incoming, made);
  if (result != CUDA_SUCCESS) return result;
  *address = made.range + incoming.offset();
  opened().emplace(*address, std::move(made));
  opened_count.store(opened().size());
  return CUDA_SUCCESS;
}

// Work that uses the memory has to be over before it is unmapped.
bool close_block(CUdeviceptr address, OpenedBy by, CUresult& result) {
  if (opened_count.load(std::memory_order_relaxed) == 0) return false;
  const std::lock_guard<std::mutex> guard(opened_lock);
  const auto known = opened().find(address);
  if (known == opened().end() || known->second.by != by) return false;
  result = CUDA_SUCCESS;
  if (--known->second.count != 0) return true;
  result = call_true(&TrueDriver::cuCtxSynchronize);
  unmap(known->second);
  opened().erase(known);
  opened_count.store(opened().size());
  return true;
}

}  // namespace tessera::preload
