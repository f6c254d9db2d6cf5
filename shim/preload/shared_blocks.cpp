#include "shared_blocks.hpp"

#include <pthread.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "exposure.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constexpr std::size_t kMostFiles = 64;          // in one message; the system takes 253
constexpr std::uint64_t kMostPieces = 1 << 20;  // of a block: 2 TiB
constexpr CUmemAllocationHandleType kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// Says what follows: so many pieces in all.
struct Answer {
  std::uint64_t offset;
  std::uint64_t pieces;
};

struct Server {
  int listener = -1;
  std::uint64_t secret = 0;
  pid_t process = 0;
  std::thread thread;
};

constinit std::mutex server_lock;
constinit Server* server = nullptr;  // leaked in a child of fork, whose thread it is not

// In the abstract namespace, which needs no folder and leaves nothing behind.
socklen_t name_of(pid_t process, std::uint64_t secret, sockaddr_un& name) {
  name = {};
  name.sun_family = AF_UNIX;
  const int length = std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "tessera-share-%d-%016llx",
                                   static_cast<int>(process), static_cast<unsigned long long>(secret));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
}

bool is_same_user(int peer) {
  ucred who{};
  socklen_t size = sizeof(who);
  return ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == ::geteuid();
}

void set_patience(int peer) {
  const timeval patience{10, 0};
  (void)::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  (void)::setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

// ---- the block's memory ------------------------------------------------------------------------

// The file of the piece that `address` lies in; -1 where there is none to be had.
int file_of(CUdeviceptr address) {
  CUmemGenericAllocationHandle piece = 0;
  int file = -1;
  if (call_true(&TrueDriver::cuMemRetainAllocationHandle, &piece, reinterpret_cast<void*>(address)) != CUDA_SUCCESS) {
    return -1;
  }
  const CUresult exported =
      call_true(&TrueDriver::cuMemExportToShareableHandle, static_cast<void*>(&file), piece, kFile, 0ULL);
  (void)call_true(&TrueDriver::cuMemRelease, piece);
  return exported == CUDA_SUCCESS ? file : -1;
}

bool find_mapping(CUdeviceptr address, CUdeviceptr& base, std::size_t& bytes) {
  const auto ask = [address](void* answer, CUpointer_attribute what) {
    return call_true(&TrueDriver::cuPointerGetAttribute, answer, what, address) == CUDA_SUCCESS;
  };
  return ask(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR) && ask(&bytes, CU_POINTER_ATTRIBUTE_MAPPING_SIZE) &&
         address >= base && address - base < bytes;
}

bool find_block(CUdeviceptr address, tessera_block_info& block) {
  block = {};
  block.size = sizeof(block);
  return running() != nullptr && tessera_query(running(), address, &block) == TESSERA_OK;
}

// REQUIRES: the context of the block's device is current, and the block is exposed.
bool share_pieces(const tessera_block_info& block, SharedPieces& shared) {
  for (CUdeviceptr at = block.address; at < block.address + block.bytes;) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    if (!find_mapping(at, base, bytes)) return false;
    if (at == block.address) shared.offset = at - base;
    const int file = file_of(at);
    if (file < 0) return false;
    shared.pieces.push_back({bytes, file});
    at = base + bytes;
  }
  return true;
}

class InDevice {
 public:
  explicit InDevice(int device)
      : pushed_(call_true(&TrueDriver::cuCtxPushCurrent_v2, home_of(device)) == CUDA_SUCCESS) {}
  ~InDevice() {
    CUcontext popped = nullptr;
    if (pushed_) (void)call_true(&TrueDriver::cuCtxPopCurrent_v2, &popped);
  }
  InDevice(const InDevice&) = delete;
  InDevice& operator=(const InDevice&) = delete;

 private:
  const bool pushed_;
};

// ---- messages ----------------------------------------------------------------------------------

// With as many files as sizes.
struct Batch {
  std::uint64_t bytes[kMostFiles];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostFiles)];
};

bool send_batch(int peer, std::span<const SharedPieces::Piece> pieces) {
  Batch batch{};
  iovec body{batch.bytes, pieces.size() * sizeof(std::uint64_t)};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = batch.control;
  message.msg_controllen = CMSG_SPACE(sizeof(int) * pieces.size());
  cmsghdr* const files = CMSG_FIRSTHDR(&message);
  files->cmsg_level = SOL_SOCKET;
  files->cmsg_type = SCM_RIGHTS;
  files->cmsg_len = CMSG_LEN(sizeof(int) * pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    batch.bytes[i] = pieces[i].bytes;
    std::memcpy(CMSG_DATA(files) + i * sizeof(int), &pieces[i].file, sizeof(int));
  }
  return ::sendmsg(peer, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(body.iov_len);
}

bool receive_batch(int peer, std::size_t count, SharedPieces& shared) {
  Batch batch{};
  iovec body{batch.bytes, count * sizeof(std::uint64_t)};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  message.msg_control = batch.control;
  message.msg_controllen = sizeof(batch.control);
  const ssize_t got = ::recvmsg(peer, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  const cmsghdr* const files = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (files == nullptr || files->cmsg_type != SCM_RIGHTS) return false;
  const std::size_t sent = (files->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < sent; ++i) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(files) + i * sizeof(int), sizeof(int));
    shared.pieces.push_back({batch.bytes[i], file});
  }
  return got == static_cast<ssize_t>(body.iov_len) && sent == count;
}

void answer(int peer) {
  SharedBlock wanted{};
  if (::recv(peer, &wanted, sizeof(wanted), MSG_WAITALL) != sizeof(wanted)) return;
  const Entry entry;
  tessera_block_info block;
  const bool live =
      find_block(wanted.address, block) && block.address == wanted.address && block.generation == wanted.generation;
  if (!live) return;
  const InDevice in_device(block.device);
  SharedPieces shared;
  if (!share_pieces(block, shared)) return;
  const Answer head{shared.offset, shared.pieces.size()};
  if (::send(peer, &head, sizeof(head), MSG_NOSIGNAL) != sizeof(head)) return;
  std::span<const SharedPieces::Piece> left = shared.pieces;
  while (!left.empty()) {
    const auto some = left.first(std::min(left.size(), kMostFiles));
    if (!send_batch(peer, some)) return;
    left = left.subspan(some.size());
  }
}

// Ends when the listener is shut down.
void serve(int listener) {
  for (;;) {
    const int peer = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0 && errno == EINVAL) return;
    if (peer < 0) {
      ::usleep(10000);  // no files left, for now
      continue;
    }
    set_patience(peer);
    if (is_same_user(peer)) answer(peer);
    ::close(peer);
  }
}

// The program's signals are for its own threads.
bool start_thread(Server& made) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    made.thread = std::thread([listener = made.listener] { serve(listener); });
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// Null when there can be none. REQUIRES: the lock.
const Server* started_server() {
  if (server != nullptr && server->process == ::getpid()) return server;
  auto made = std::make_unique<Server>();
  made->process = ::getpid();
  if (::getrandom(&made->secret, sizeof(made->secret), 0) != sizeof(made->secret)) return nullptr;
  sockaddr_un name;
  const socklen_t size = name_of(made->process, made->secret, name);
  made->listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool ready = made->listener >= 0 && ::bind(made->listener, reinterpret_cast<sockaddr*>(&name), size) == 0 &&
                     ::listen(made->listener, 64) == 0 && start_thread(*made);
  if (ready) return server = made.release();
  if (made->listener >= 0) ::close(made->listener);
  return nullptr;
}

}  // namespace

SharedPieces::~SharedPieces() {
  for (const Piece& piece : pieces) ::close(piece.file);
}

CUresult share_block(CUdeviceptr address, CUipcMemHandle& handle) {
  constexpr const char* kCall = "cuIpcGetMemHandle";
  tessera_block_info block;
  if (!find_block(address, block)) return CUDA_ERROR_INVALID_VALUE;
  KeptBlocks kept(kCall);
  const CUresult pinned = kept.add(block.address);
  if (pinned != CUDA_SUCCESS) return pinned;
  int file = -1;
  {
    const InDevice in_device(block.device);
    file = file_of(block.address);
  }
  const std::lock_guard<std::mutex> guard(server_lock);
  const Server* const serving = file >= 0 ? started_server() : nullptr;
  if (file >= 0) ::close(file);
  if (serving == nullptr) {
    say("%s: this machine cannot share memory that moves", kCall);
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const SharedBlock shared{kSharedMark,
                           serving->secret,
                           block.address,
                           block.generation,
                           block.bytes,
                           static_cast<std::uint32_t>(serving->process),
                           {}};
  std::memcpy(&handle, &shared, sizeof(handle));
  return kept.after(CUDA_SUCCESS);
}

bool receive_block(const SharedBlock& block, SharedPieces& shared) {
  sockaddr_un name;
  const socklen_t size = name_of(static_cast<pid_t>(block.process), block.secret, name);
  const int peer = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (peer < 0) return false;
  set_patience(peer);
  Answer head{};
  bool right = ::connect(peer, reinterpret_cast<sockaddr*>(&name), size) == 0 && is_same_user(peer) &&
               ::send(peer, &block, sizeof(block), MSG_NOSIGNAL) == sizeof(block) &&
               ::recv(peer, &head, sizeof(head), MSG_WAITALL) == sizeof(head) && head.pieces <= kMostPieces;
  shared.offset = head.offset;
  for (std::uint64_t left = head.pieces; right && left != 0;) {
    const std::size_t some = std::min<std::size_t>(left, kMostFiles);
    right = receive_batch(peer, some, shared);
    left -= some;
  }
  ::close(peer);
  return right && !shared.pieces.empty();
}

void stop_sharing() {
  std::unique_ptr<Server> ending;
  {
    const std::lock_guard<std::mutex> guard(server_lock);
    if (server == nullptr || server->process != ::getpid()) return;
    ending.reset(server);
    server = nullptr;
  }
  (void)::shutdown(ending->listener, SHUT_RDWR);
  ending->thread.join();
  ::close(ending->listener);
}

}  // namespace tessera::preload
