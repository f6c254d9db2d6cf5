#include "shared_pieces.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

namespace tessera::preload {
namespace {

// One message: the sizes of the pieces as data, and as many file descriptors.
struct Message {
  std::uint64_t bytes[kPiecesAtOnce];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kPiecesAtOnce)];
  iovec body;
  msghdr head;

  explicit Message(std::size_t count) : bytes{}, control{}, body{bytes, count * sizeof(bytes[0])}, head{} {
    head.msg_iov = &body;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = CMSG_SPACE(sizeof(int) * count);
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

}  // namespace

void HeldPieces::close_all() {
  for (const SharedPiece& piece : pieces_) ::close(piece.file);
  pieces_.clear();
}

bool send_pieces(int socket, std::span<const SharedPiece> pieces) {
  Message message(pieces.size());
  cmsghdr* const files = CMSG_FIRSTHDR(&message.head);
  files->cmsg_level = SOL_SOCKET;
  files->cmsg_type = SCM_RIGHTS;
  files->cmsg_len = CMSG_LEN(sizeof(int) * pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    message.bytes[i] = pieces[i].bytes;
    std::memcpy(CMSG_DATA(files) + i * sizeof(int), &pieces[i].file, sizeof(int));
  }
  return ::sendmsg(socket, &message.head, MSG_NOSIGNAL) == static_cast<ssize_t>(message.body.iov_len);
}

bool receive_pieces(int socket, std::size_t count, HeldPieces& pieces) {
  pieces.close_all();
  Message message(count);
  const ssize_t got = ::recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  const cmsghdr* const files = got > 0 ? CMSG_FIRSTHDR(&message.head) : nullptr;
  if (files == nullptr || files->cmsg_type != SCM_RIGHTS) return false;
  const std::size_t sent = (files->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < sent; ++i) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(files) + i * sizeof(int), sizeof(int));
    pieces.add({message.bytes[i], file});
  }
  return got == static_cast<ssize_t>(message.body.iov_len) && sent == count;
}

}  // namespace tessera::preload
