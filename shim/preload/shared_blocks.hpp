// Blocks that other processes may open by a legacy handle (cuIpcGetMemHandle), which the driver supplies only for
// cuMemAlloc memory, or by the export data of a pool's block.
//
// A handle of ours identifies a socket of this process and a block. A process that opens it, also under the preload
// library, is sent a file descriptor for each piece of the block's memory and maps the pieces. The block stays in
// device memory until it is freed, as CUDA requires for exported memory. A thread serves the socket from the first
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

// The contents of our handles, which have the size of the driver's.
struct SharedBlock {
  std::array<char, 8> mark;  // kSharedMark: no handle of the driver begins with it
  std::uint64_t secret;      // of the process, so that the block's number alone opens nothing
  std::uint64_t address;     // of the block's first byte
  std::uint64_t generation;  // of the block: another block may be placed at the address
  std::uint64_t bytes;
  std::uint32_t process;
  std::uint32_t reserved[5];

  auto operator<=>(const SharedBlock&) const = default;
};
static_assert(sizeof(SharedBlock) == sizeof(CUipcMemHandle));

constexpr std::array<char, 8> kSharedMark = {'T', 'e', 's', 's', 'e', 'r', 'a', '1'};

// A handle for the block that contains `address`; the block stays in device memory from now on, because of `call` (a
// string literal). Errors: INVALID_VALUE if there is no live block; NOT_SUPPORTED, with a line, if its memory cannot be
// shared.
CUresult share_block(CUdeviceptr address, CUipcMemHandle& handle, const char* call);

// The memory of a block being received from the process that made the handle.
class IncomingBlock {
 public:
  explicit IncomingBlock(const SharedBlock& block);  // requests it
  ~IncomingBlock();
  IncomingBlock(const IncomingBlock&) = delete;
  IncomingBlock& operator=(const IncomingBlock&) = delete;

  // Of all pieces together; 0 if there is no such process or block.
  std::uint64_t bytes() const { return head_.bytes; }
  // Offset of the block in the first piece.
  std::uint64_t offset() const { return head_.offset; }
  // Calls map(piece) for each piece, in order, and closes its file afterwards. Stops at an error and returns it;
  // INVALID_HANDLE if not all pieces arrive.
  CUresult take(const std::function<CUresult(const SharedPiece&)>& map);

  // The first message from the other process.
  struct Head {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t pieces;
  };

 private:
  Head head_{};
  int socket_ = -1;
};

// Call before Tessera ends.
void stop_sharing();

}  // namespace tessera::preload
