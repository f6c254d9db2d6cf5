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

#include "descriptors.hpp"
#include "exposure.hpp"
#include "in_context.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "peer_user.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constexpr CUmemAllocationHandleType kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

struct SharingServer {
  int listener = -1;
  std::uint64_t secret = 0;
  pid_t process = 0;
  std::thread thread;
};

constinit std::mutex server_lock;
constinit SharingServer* sharing_server = nullptr;  // leaked in a child of fork, which does not have its thread

// In the abstract namespace, which needs no folder and leaves nothing behind.
socklen_t name_of(pid_t process, std::uint64_t secret, sockaddr_un& name) {
  name = {};
  name.sun_family = AF_UNIX;
  const int length = std::snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "tessera-share-%d-%016llx",
                                   static_cast<int>(process), static_cast<unsigned long long>(secret));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
}

void set_patience(int peer) {
  const timeval patience{10, 0};
  (void)::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  (void)::setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

// ---- the block's memory ------------------------------------------------------------------------

// A file for the piece that contains `address`; -1 if there is none.
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

// Calls each(base, bytes) for the mappings of the block, in order, until a mapping cannot be found or `each` returns
// false. REQUIRES: the context of the block's device is current, and the block is exposed.
template <class Each>
bool for_each_mapping(const tessera_block_info& block, Each each) {
  for (CUdeviceptr at = block.address; at < block.address + block.bytes;) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    if (!find_mapping(at, base, bytes) || !each(base, bytes)) return false;
    at = base + bytes;
  }
  return true;
}

bool is_still(const SharedBlock& wanted, tessera_block_info& block) {
  return find_block(wanted.address, block) && block.address == wanted.address && block.generation == wanted.generation;
}

// Sends the pieces, and checks that the block is still the same after its pieces were looked up: another may have taken
// its address.
bool send_all(int peer, const SharedBlock& wanted, const tessera_block_info& block) {
  HeldPieces held;
  const auto send_held = [&] {
    tessera_block_info now;
    const bool sent = held.all().empty() || (is_still(wanted, now) && send_pieces(peer, held.all()));
    held.close_all();
    return sent;
  };
  const bool named = for_each_mapping(block, [&](CUdeviceptr base, std::size_t bytes) {
    const int file = file_of(base);
    if (file >= 0) held.add({bytes, file});
    return file >= 0 && (held.all().size() < kPiecesAtOnce || send_held());
  });
  return named && send_held();
}

void answer(int peer) {
  SharedBlock wanted{};
  if (::recv(peer, &wanted, sizeof(wanted), MSG_WAITALL) != sizeof(wanted)) return;
  const Entry entry;
  tessera_block_info block;
  if (!is_still(wanted, block)) return;
  const InContext in_home(home_of(block.device));
  IncomingBlock::Head head{};
  const bool known = for_each_mapping(block, [&](CUdeviceptr base, std::size_t bytes) {
    if (head.pieces++ == 0) head.offset = block.address - base;
    head.bytes += bytes;
    return true;
  });
  if (!known || ::send(peer, &head, sizeof(head), MSG_NOSIGNAL) != sizeof(head)) return;
  (void)send_all(peer, wanted, block);  // on failure the other side receives too few pieces
}

// Returns when the listener is shut down.
void serve_shares(int listener) {
  for (;;) {
    const int peer = off_standard_streams(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (peer < 0 && errno == EINVAL) return;
    if (peer < 0) {
      ::usleep(10000);  // out of file descriptors, for now
      continue;
    }
    set_patience(peer);
    if (is_same_user(peer)) answer(peer);
    ::close(peer);
  }
}

// Blocks all signals in the thread: they are for the program's own threads.
bool start_sharing_thread(SharingServer& made) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    made.thread = std::thread([listener = made.listener] { serve_shares(listener); });
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// Null if it cannot be started. REQUIRES: the lock is held.
const SharingServer* started_server() {
  if (sharing_server != nullptr && sharing_server->process == ::getpid()) return sharing_server;
  auto made = std::make_unique<SharingServer>();
  made->process = ::getpid();
  if (::getrandom(&made->secret, sizeof(made->secret), 0) != sizeof(made->secret)) return nullptr;
  sockaddr_un name;
  const socklen_t size = name_of(made->process, made->secret, name);
  made->listener = off_standard_streams(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool ready = made->listener >= 0 && ::bind(made->listener, reinterpret_cast<sockaddr*>(&name), size) == 0 &&
                     ::listen(made->listener, 64) == 0 && start_sharing_thread(*made);
  if (ready) return sharing_server = made.release();
  if (made->listener >= 0) ::close(made->listener);
  return nullptr;
}

}  // namespace

CUresult share_block(CUdeviceptr address, CUipcMemHandle& handle, const char* call) {
  tessera_block_info block;
  if (!find_block(address, block)) return CUDA_ERROR_INVALID_VALUE;
  KeptBlocks kept(call);
  const CUresult pinned = kept.add(block.address);
  if (pinned != CUDA_SUCCESS) return pinned;
  int file = -1;
  {
    const InContext in_home(home_of(block.device));
    file = file_of(block.address);
  }
  const std::lock_guard<std::mutex> guard(server_lock);
  const SharingServer* const serving = file >= 0 ? started_server() : nullptr;
  if (file >= 0) ::close(file);
  if (serving == nullptr) {
    say("%s: this machine cannot share evictable memory", call);
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

IncomingBlock::IncomingBlock(const SharedBlock& block) {
  sockaddr_un name;
  const socklen_t size = name_of(static_cast<pid_t>(block.process), block.secret, name);
  socket_ = off_standard_streams(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket_ < 0) return;
  set_patience(socket_);
  Head told{};
  const bool answered = ::connect(socket_, reinterpret_cast<sockaddr*>(&name), size) == 0 && is_same_user(socket_) &&
                        ::send(socket_, &block, sizeof(block), MSG_NOSIGNAL) == sizeof(block) &&
                        ::recv(socket_, &told, sizeof(told), MSG_WAITALL) == sizeof(told);
  if (answered) head_ = told;
}

IncomingBlock::~IncomingBlock() {
  if (socket_ >= 0) ::close(socket_);
}

CUresult IncomingBlock::take(const std::function<CUresult(const SharedPiece&)>& map) {
  HeldPieces held;
  std::uint64_t bytes = 0;
  for (std::uint64_t left = head_.pieces; left != 0;) {
    const std::size_t some = std::min<std::size_t>(left, kPiecesAtOnce);
    if (!receive_pieces(socket_, some, held)) return CUDA_ERROR_INVALID_HANDLE;
    for (const SharedPiece& piece : held.all()) {
      bytes += piece.bytes;
      if (bytes > head_.bytes) return CUDA_ERROR_INVALID_HANDLE;
      if (const CUresult result = map(piece); result != CUDA_SUCCESS) return result;
    }
    left -= some;
  }
  return bytes == head_.bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void stop_sharing() {
  std::unique_ptr<SharingServer> ending;
  {
    const std::lock_guard<std::mutex> guard(server_lock);
    if (sharing_server == nullptr || sharing_server->process != ::getpid()) return;
    ending.reset(sharing_server);
    sharing_server = nullptr;
  }
  (void)::shutdown(ending->listener, SHUT_RDWR);
  ending->thread.join();
  ::close(ending->listener);
}

}  // namespace tessera::preload
