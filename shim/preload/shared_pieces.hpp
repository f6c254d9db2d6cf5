// File descriptors for pieces of memory, sent from process to process over a socket.
//
// They are sent a few at a time: a large block has more pieces than a process may have open files.
//
// Thread safety: a socket belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::preload {

struct SharedPiece {
  std::uint64_t bytes;
  int file;
};

constexpr std::size_t kPiecesAtOnce = 64;  // the kernel accepts at most 253 files per message

// Pieces; the destructor closes their files.
class HeldPieces {
 public:
  HeldPieces() = default;
  ~HeldPieces() { close_all(); }
  HeldPieces(const HeldPieces&) = delete;
  HeldPieces& operator=(const HeldPieces&) = delete;

  void add(SharedPiece piece) { pieces_.push_back(piece); }
  std::span<const SharedPiece> all() const { return pieces_; }
  void close_all();

 private:
  std::vector<SharedPiece> pieces_;
};

// At most kPiecesAtOnce. False if the peer is gone.
bool send_pieces(int socket, std::span<const SharedPiece> pieces);
// Receives `count` pieces, replacing those held. False if they do not arrive.
bool receive_pieces(int socket, std::size_t count, HeldPieces& pieces);

}  // namespace tessera::preload
