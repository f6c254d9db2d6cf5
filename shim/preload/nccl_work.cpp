#include "nccl_work.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>

#include "capture.hpp"
#include "exposure.hpp"
#include "green_contexts.hpp"
#include "in_context.hpp"
#include "managed_use.hpp"
#include "outcome.hpp"

namespace tessera::preload {

thread_local constinit int NcclGroup::depth_ = 0;
thread_local constinit NcclGroup::Open* NcclGroup::open_ = nullptr;

namespace {

constexpr std::size_t kMostInUse = 4096;  // maximum number of addresses for tessera_use_begin

constinit std::mutex pending_lock;
constinit std::atomic<std::size_t> pending_count{0};

// Pieces that NCCL queues work on later. Never destroyed: programs destroy communicators in exit handlers.
std::vector<NcclPiece>& pending() {
  static auto& pieces = *new std::vector<NcclPiece>;
  return pieces;
}

auto place_of(const NcclPiece& piece) { return std::tuple(piece.device, piece.stream); }

bool earlier(const NcclPiece& a, const NcclPiece& b) {
  return std::tuple(a.device, a.stream, a.block) < std::tuple(b.device, b.stream, b.block);
}

// Calls each(device, stream, blocks) for the pieces of each stream. REQUIRES: they are sorted.
template <class Each>
void for_each_stream(std::span<const NcclPiece> pieces, Each each) {
  std::vector<tessera_address> blocks;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    blocks.push_back(pieces[i].block);
    if (i + 1 < pieces.size() && place_of(pieces[i + 1]) == place_of(pieces[i])) continue;
    each(pieces[i].device, pieces[i].stream, std::span<const tessera_address>(blocks));
    blocks.clear();
  }
}

// Records that the stream has work on these blocks, which are all resident.
void note_queued(CUdevice device, CUstream stream, std::span<const tessera_address> blocks) {
  const InContext in_home(home_of(device));
  // If this fails, the program's own next wait fails too.
  if (of_green_default(stream)) (void)call_true(&TrueDriver::cuStreamSynchronize, stream);
  while (!blocks.empty()) {
    const auto some = blocks.first(std::min(blocks.size(), kMostInUse));
    tessera_use use;
    const tessera_result result =
        tessera_use_begin(running(), some.data(), some.size(), stream_of(stream), TESSERA_WRITE, &use);
    if (result == TESSERA_OK)
      tessera_use_end(running(), &use);
    else
      (void)cuda_result_said(result, "NCCL");
    blocks = blocks.subspan(some.size());
  }
}

// The same for work queued by another thread; a per-thread default stream can be named only by its own thread, so the
// context is synchronised instead.
void note_queued_later(CUdevice device, CUstream stream, std::span<const tessera_address> blocks) {
  if (stream != CU_STREAM_PER_THREAD) return note_queued(device, stream, blocks);
  const InContext in_home(home_of(device));
  (void)call_true(&TrueDriver::cuCtxSynchronize);
}

}  // namespace

NcclHold::NcclHold(std::vector<NcclPiece> pieces) : pieces_(std::move(pieces)) {
  if (pieces_.empty() || running() == nullptr || entry_.nested()) return;
  std::sort(pieces_.begin(), pieces_.end(), earlier);
  const auto same = [](const NcclPiece& a, const NcclPiece& b) {
    return a.block == b.block && place_of(a) == place_of(b);
  };
  pieces_.erase(std::unique(pieces_.begin(), pieces_.end(), same), pieces_.end());
  std::vector<tessera_address> blocks;
  for (const NcclPiece& piece : pieces_) blocks.push_back(piece.block);
  const NcclPiece& first = pieces_.front();
  const InContext in_home(home_of(first.device));
  // A single stream waits for pending fetches by itself; with several streams, all fetches complete before the call.
  on_one_stream_ = place_of(first) == place_of(pieces_.back()) && !of_green_default(first.stream);
  const tessera_stream ordered_by = on_one_stream_ ? stream_of(first.stream) : TESSERA_NO_STREAM;
  const tessera_result result =
      tessera_use_begin_blocking(running(), blocks.data(), blocks.size(), ordered_by, TESSERA_WRITE, &use_);
  begun_ = result == TESSERA_OK;
  status_ = cuda_result_said(result, "NCCL");
}

void NcclHold::queued(NcclResult result) {
  if (!begun_) return;
  if (result != kNcclInProgress) {
    if (!on_one_stream_) for_each_stream(pieces_, note_queued);
    return;
  }
  const std::lock_guard<std::mutex> guard(pending_lock);
  for (const NcclPiece& piece : pieces_) {
    const InContext in_home(home_of(piece.device));
    const tessera_result pinned = tessera_pin(running(), piece.block);  // it is resident and held
    if (pinned == TESSERA_OK)
      pending().push_back(piece);
    else
      (void)cuda_result_said(pinned, "NCCL");
  }
  pending_count.store(pending().size());
}

NcclHold::~NcclHold() {
  if (!begun_) return;
  const InContext in_home(home_of(pieces_.front().device));
  tessera_use_end(running(), &use_);
}

NcclPending::NcclPending(NcclComm* comm) {
  if (pending_count.load() == 0) return;
  const std::lock_guard<std::mutex> guard(pending_lock);
  const auto others = [comm](const NcclPiece& piece) { return piece.comm != comm; };
  const auto mine = std::stable_partition(pending().begin(), pending().end(), others);
  pieces_.assign(mine, pending().end());
  pending().erase(mine, pending().end());
  pending_count.store(pending().size());
}

void NcclPending::queued() {
  const Entry entry;
  if (pieces_.empty() || running() == nullptr || entry.nested()) return;
  std::sort(pieces_.begin(), pieces_.end(), earlier);
  for_each_stream(pieces_, note_queued_later);
  // A block freed by the program in the meantime is no longer pinned.
  for (const NcclPiece& piece : pieces_) (void)tessera_unpin(running(), piece.block);
  pieces_.clear();
}

struct NcclGroup::Open {
  std::vector<NcclPiece> pieces;
  bool failed = false;
};

NcclGroup::Open& NcclGroup::open() {
  if (open_ == nullptr) open_ = new Open;
  return *open_;
}

bool NcclGroup::end(std::vector<NcclPiece>& pieces, bool& failed) {
  if (depth_ == 0 || --depth_ != 0) return false;
  if (open_ == nullptr) return true;
  pieces = std::move(open_->pieces);
  failed = open_->failed;
  delete open_;
  open_ = nullptr;
  return true;
}

void NcclGroup::add(std::span<const NcclPiece> pieces) {
  if (pieces.empty()) return;
  open().pieces.insert(open().pieces.end(), pieces.begin(), pieces.end());
}

void NcclGroup::fail() { open().failed = true; }

CUresult find_pieces(NcclComm* comm, CUstream given, std::span<const CUdeviceptr> addresses,
                     std::vector<NcclPiece>& pieces) {
  const CUstream stream = given != nullptr ? given : CU_STREAM_LEGACY;
  for (const CUdeviceptr address : addresses) {
    tessera_block_info block{};
    block.size = sizeof(block);
    if (!served(address)) continue;
    // If the address is not in a live block, the driver reports the error.
    if (tessera_query(running(), address, &block) != TESSERA_OK) continue;
    const InContext in_home(home_of(block.device));
    if (!capturing(stream)) {
      pieces.push_back({comm, block.device, stream, block.address});
      continue;
    }
    const CUresult exposed = expose(block.address, "NCCL in a graph");
    if (exposed != CUDA_SUCCESS) return exposed;
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::preload
