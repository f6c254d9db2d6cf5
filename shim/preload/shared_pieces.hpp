// Files that stand for pieces of memory, sent from process to process by a socket.
//
// A few at a time: a large block has more pieces than a process may have files open.
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

constexpr std::size_t kPiecesAtOnce = 64;  // the system takes 253 files in one message

// Pieces whose files are closed with it.
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

// At most kPiecesAtOnce. False when the other side is gone.
bool send_pieces(int socket, std::span<const SharedPiece> pieces);
// As many as `count`, in place of those that are held. False when they do not come.
bool receive_pieces(int socket, std::size_t count, HeldPieces& pieces);

}  // namespace tessera::preload
