// A new implementation of the caching rules of PyTorch's CUDA allocator, as its documentation states them. Sizes are
// rounded to 512 bytes. Sizes up to 1 MiB come from segments of 2 MiB, sizes up to 10 MiB from segments of 20 MiB;
// above that a segment has the size rounded to 2 MiB. The best-fitting free block of the same stream is split if the
// rest is at least 512 bytes (small) or more than 1 MiB (large). Free neighbours merge. When memory runs out, segments
// that are completely free are released.
//
// A segment costs nothing here, while cudaMalloc takes a device call: times are those of a warm cache.
#include <array>
#include <mutex>
#include <set>
#include <unordered_map>

#include "contender.hpp"

namespace tessera::bench {
namespace {

constexpr std::uint64_t kTorchUnit = 512;
constexpr std::uint64_t kSmallest = (1_MiB).value();  // up to this size a block is small
constexpr std::uint64_t kSmallSegment = (2_MiB).value();
constexpr std::uint64_t kLargeSegment = (20_MiB).value();
constexpr std::uint64_t kOwnSegment = (10_MiB).value();  // from this size a block has its own segment

struct Piece {
  std::uint64_t start = 0, size = 0;
  unsigned stream = 0;
  bool small = false, live = false;
  Piece* before = nullptr;  // neighbours in the segment
  Piece* after = nullptr;
};

struct BySize {
  bool operator()(const Piece* a, const Piece* b) const {
    return a->size != b->size ? a->size < b->size : a->start < b->start;
  }
};

class TorchRules final : public Contender {
 public:
  explicit TorchRules(Bytes capacity) : capacity_(capacity.value()) {}
  ~TorchRules() override {
    for (const auto& [start, piece] : live_) delete piece;
    for (auto& pool : pools_) {
      for (const Piece* piece : pool) delete piece;
    }
  }

  std::uint64_t allocate(Bytes bytes, unsigned stream) override {
    const std::uint64_t size = round_up(bytes, Bytes(kTorchUnit)).value();
    const bool small = size <= kSmallest;
    const std::scoped_lock lock(mutex_);
    Piece* piece = take(size, stream, small);
    if (piece == nullptr) piece = add_segment(size, stream, small);
    if (piece == nullptr) return 0;
    const std::uint64_t rest = piece->size - size;
    if (small ? rest >= kTorchUnit : rest > kSmallest) split(*piece, size);
    piece->live = true;
    live_.emplace(piece->start, piece);
    return piece->start;
  }

  void free(std::uint64_t address, unsigned) override {
    const std::scoped_lock lock(mutex_);
    Piece* const piece = live_.extract(address).mapped();
    piece->live = false;
    if (piece->after != nullptr && !piece->after->live) absorb_next(*piece);
    if (piece->before != nullptr && !piece->before->live) {
      Piece* const before = piece->before;
      pool(*before).erase(before);
      join(*before);
      pool(*before).insert(before);
    } else {
      pool(*piece).insert(piece);
    }
  }

  std::optional<Bytes> reserved() const override { return Bytes(reserved_); }

 private:
  using Pool = std::set<Piece*, BySize>;

  Pool& pool(const Piece& piece) { return pools_[2 * piece.stream + (piece.small ? 1u : 0u)]; }

  Piece* take(std::uint64_t size, unsigned stream, bool small) {
    Piece wanted;
    wanted.size = size;
    wanted.stream = stream;
    wanted.small = small;
    Pool& from = pool(wanted);
    const auto found = from.lower_bound(&wanted);
    if (found == from.end()) return nullptr;
    Piece* const piece = *found;
    from.erase(found);
    return piece;
  }

  Piece* add_segment(std::uint64_t size, unsigned stream, bool small) {
    const std::uint64_t segment = small                ? kSmallSegment
                                  : size < kOwnSegment ? kLargeSegment
                                                       : round_up(Bytes(size), 2_MiB).value();
    if (reserved_ + segment > capacity_) give_segments_back();
    if (reserved_ + segment > capacity_) return nullptr;
    reserved_ += segment;
    auto* const piece = new Piece;
    piece->start = next_;
    piece->size = segment;
    piece->stream = stream;
    piece->small = small;
    next_ += segment + kTorchUnit;  // segments never merge
    return piece;
  }

  void give_segments_back() {
    for (Pool& pieces : pools_) {
      std::erase_if(pieces, [this](Piece* piece) {
        if (piece->before != nullptr || piece->after != nullptr) return false;
        reserved_ -= piece->size;
        delete piece;
        return true;
      });
    }
  }

  void split(Piece& piece, std::uint64_t size) {
    auto* const rest = new Piece(piece);
    rest->start += size;
    rest->size -= size;
    rest->before = &piece;
    if (rest->after != nullptr) rest->after->before = rest;
    piece.size = size;
    piece.after = rest;
    pool(*rest).insert(rest);
  }

  void absorb_next(Piece& piece) {
    pool(*piece.after).erase(piece.after);
    join(piece);
  }
  // Joins the piece with the next one, which is in no pool.
  static void join(Piece& piece) {
    Piece* const next = piece.after;
    piece.size += next->size;
    piece.after = next->after;
    if (piece.after != nullptr) piece.after->before = &piece;
    delete next;
  }

  const std::uint64_t capacity_;
  std::mutex mutex_;
  std::array<Pool, 2 * kStreams> pools_;
  std::unordered_map<std::uint64_t, Piece*> live_;
  std::uint64_t reserved_ = 0;
  std::uint64_t next_ = std::uint64_t{1} << 40;
};

}  // namespace

std::unique_ptr<Contender> make_torch_rules(Bytes capacity) { return std::make_unique<TorchRules>(capacity); }

}  // namespace tessera::bench
