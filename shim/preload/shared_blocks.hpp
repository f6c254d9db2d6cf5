// Blocks that other processes may open by a legacy handle (cuIpcGetMemHandle), which the driver gives for
// memory of cuMemAlloc alone.
//
// A handle of ours names a socket of this process and a block. Who opens it, under the preload library too,
// is sent a file for each piece of the block's memory and maps these. The block stays in device memory
// until it is freed, as CUDA asks of exported memory. The socket is served by a thread, from the first
// handle on, for processes of the same user only.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "cuda_api.hpp"
#include "shared_pieces.hpp"

namespace tessera::preload {

// What a handle of ours holds: it is as large as the driver's.
struct SharedBlock {
  std::array<char, 8> mark;  // kSharedMark: no handle of the driver's begins so
  std::uint64_t secret;      // of the process, so that its number alone opens nothing
  std::uint64_t address;     // of the block's first byte
  std::uint64_t generation;  // of the block: another may come to the address
  std::uint64_t bytes;
  std::uint32_t process;
  std::uint32_t reserved[5];

  auto operator<=>(const SharedBlock&) const = default;
};
static_assert(sizeof(SharedBlock) == sizeof(CUipcMemHandle));

constexpr std::array<char, 8> kSharedMark = {'T', 'e', 's', 's', 'e', 'r', 'a', '1'};

// A handle for the block that holds `address`, which stays from now on. Errors: INVALID_VALUE for what is no
// live block; NOT_SUPPORTED, with a line, where its memory cannot be shared.
CUresult share_block(CUdeviceptr address, CUipcMemHandle& handle);

// The memory of a block on its way here, from the process that gave the handle.
class IncomingBlock {
 public:
  explicit IncomingBlock(const SharedBlock& block);  // asks for it
  ~IncomingBlock();
  IncomingBlock(const IncomingBlock&) = delete;
  IncomingBlock& operator=(const IncomingBlock&) = delete;

  // Of all pieces together; 0 when there is no such process or block.
  std::uint64_t bytes() const { return head_.bytes; }
  // Of the block in the first piece.
  std::uint64_t offset() const { return head_.offset; }
  // Calls map(piece) for each piece, in order, whose file is closed then. Stops at an error, and gives it;
  // INVALID_HANDLE when not all come.
  CUresult take(const std::function<CUresult(const SharedPiece&)>& map);

  // What the other process says first.
  struct Head {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t pieces;
  };

 private:
  Head head_{};
  int socket_ = -1;
};

// Before Tessera ends.
void stop_sharing();

}  // namespace tessera::preload
