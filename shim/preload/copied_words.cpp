#include "copied_words.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "capture.hpp"
#include "division_numbers.hpp"
#include "exposure.hpp"
#include "late_copies.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "pointer_tables.hpp"
#include "tensor_maps.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constexpr const char* kTooMany = "pointer tables";

// A word in a copy, at `offset` bytes from its start.
struct Word {
  std::size_t offset;
  CUdeviceptr value;
};

// A part of a copy that forms one table.
struct Piece {
  std::size_t offset;
  std::size_t bytes;
};

// Words at addresses that are multiples of eight in the destination and that point into live blocks. A tensor map
// counts as a word at its first byte.
std::vector<Word> words_in(CUdeviceptr to, const void* from, std::size_t bytes) {
  std::vector<Word> words;
  const char* const begin = static_cast<const char*>(from);
  const bool low = blocks_lie_low();
  tessera_block_info info;
  for (std::size_t i = (0 - to) % sizeof(CUdeviceptr); i + sizeof(CUdeviceptr) <= bytes; i += sizeof(CUdeviceptr)) {
    CUdeviceptr word = 0;
    std::memcpy(&word, begin + i, sizeof(word));
    if (!managed(word) || (low && is_division(begin, bytes, i))) continue;
    if (find_block(word, info)) words.push_back({i, word});
  }
  const std::size_t skipped = (0 - to) % TensorMaps::kAlignment;
  if (bytes < skipped + sizeof(CUtensorMap) || !tensor_maps().any()) return words;
  tensor_maps().visit(begin + skipped, bytes - skipped, [&](std::size_t i, CUdeviceptr tensor) {
    if (find_block(tensor, info)) words.push_back({skipped + i, tensor});
  });
  return words;
}

// The words that a device-to-device copy moves from a known table.
std::vector<Word> words_of_table(CUdeviceptr from, std::size_t bytes) {
  std::vector<Word> words;
  if (!any_pointer_tables()) return words;
  pointer_tables().visit(from, bytes, [&](std::size_t offset, CUdeviceptr pointee) {
    words.push_back({offset, pointee});
  });
  return words;
}

// Whether a word stored where its use cannot be seen keeps its block in device memory. When blocks lie low, it has to
// be an address that an allocator returns: those are multiples of at least 256.
bool is_worth_keeping(CUdeviceptr word) { return !blocks_lie_low() || word % 256 == 0; }

void store_in_table(CUdeviceptr to, std::size_t bytes, const std::vector<Word>& words, const std::vector<Piece>& pieces,
                    Overwrites overwrites) {
  const auto add = overwrites == Overwrites::kYes ? &PointerTables::add : &PointerTables::add_beside;
  if (overwrites == Overwrites::kYes && any_pointer_tables()) pointer_tables().forget(to, bytes);
  tessera_block_info holder;
  if (words.empty() || !find_block(to, holder)) return;
  for (const Word& word : words) {
    if (!(pointer_tables().*add)(to + word.offset, word.value, holder.address, holder.bytes)) {
      // Fails only if the block cannot be made to stay; then the next launch fails as well and reports it.
      if (is_worth_keeping(word.value)) (void)expose(word.value, kTooMany);
    }
  }
  for (const Piece& piece : pieces) pointer_tables().join(to + piece.offset, piece.bytes);
}

// Words that host memory may contain once earlier copies into it have run; the words that it contains now are in `now`.
std::vector<Word> words_on_their_way(CUdeviceptr from, std::size_t bytes, const std::vector<Word>& now) {
  std::vector<Word> words;
  tessera_block_info info;
  for (const auto& [place, value] : late_copies().copied_back(from, bytes)) {
    const Word word{static_cast<std::size_t>(place - from), value};
    const auto is_same = [&](const Word& other) { return other.offset == word.offset && other.value == word.value; };
    if (std::ranges::none_of(now, is_same) && find_block(value, info)) words.push_back(word);
  }
  return words;
}

bool is_pinned(CUdeviceptr address) {
  unsigned type = 0;
  return call_true(&TrueDriver::cuPointerGetAttribute, static_cast<void*>(&type), CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                   address) == CUDA_SUCCESS;
}

// When blocks lie low, a pair of numbers may look like an address, so only the first byte of a block is certain.
std::vector<OutsideWord> worth_keeping(CUdeviceptr to, const std::vector<Word>& words) {
  std::vector<OutsideWord> worth;
  tessera_block_info info;
  for (const Word& word : words) {
    if (!is_worth_keeping(word.value) || !find_block(word.value, info)) continue;
    worth.push_back({to + word.offset, word.value, info.address, blocks_lie_low() && word.value != info.address});
  }
  return worth;
}

bool nothing_to_note(std::size_t bytes, CUstream stream) {
  return bytes == 0 || running() == nullptr || detail::launch_facts.range_high.load(std::memory_order_relaxed) == 0 ||
         capturing(stream);
}

}  // namespace

bool is_host_memory(CUdeviceptr address) {
  unsigned type = 0;
  const CUresult known = call_true(&TrueDriver::cuPointerGetAttribute, static_cast<void*>(&type),
                                   CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  return known != CUDA_SUCCESS || type == CU_MEMORYTYPE_HOST;
}

CopiedWords::CopiedWords(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Source source, CUstream stream,
                         Overwrites overwrites)
    : to_(to), from_(from), bytes_(bytes), source_(source), overwrites_(overwrites) {
  const bool small = bytes <= kMostSearched;
  if (nothing_to_note(bytes, stream) || (!small && !any_pointer_tables() && !outside_words().any())) return;
  const bool in_heap = managed(to);
  if (source == Source::kAny) {
    if (!in_heap && is_host_memory(to)) {
      target_ = managed(from) ? Target::kHost : Target::kNone;
      return;
    }
    source_ = managed(from) || !is_host_memory(from) ? Source::kDevice : Source::kHost;
  }
  target_ = in_heap ? Target::kTable : Target::kOutside;
  is_late_ = source_ == Source::kHost && small && late_copies().host_function_pending();
  if (in_heap) return;
  std::vector<Word> words;
  if (source_ == Source::kDevice) {
    words = words_of_table(from, bytes);
  } else if (small) {
    words = words_in(to, reinterpret_cast<const void*>(from), bytes);
    const std::vector<Word> late = words_on_their_way(from, bytes, words);
    words.insert(words.end(), late.begin(), late.end());
  }
  outside_.prepare(to, overwrites == Overwrites::kYes ? bytes : 0, worth_keeping(to, words));
}

void CopiedWords::made() {
  if (target_ == Target::kNone) return;
  if (target_ == Target::kHost) return note_copy_out(to_, from_, bytes_);
  const bool read = source_ == Source::kHost && bytes_ <= kMostSearched;
  if (is_late_ && is_pinned(from_)) late_copies().add(to_, from_, bytes_);
  if (target_ == Target::kOutside) return outside_.made();
  std::vector<Word> words;
  std::vector<Piece> pieces;
  if (source_ == Source::kDevice) {
    words = words_of_table(from_, bytes_);
    const auto add_piece = [&](std::size_t offset, std::size_t length) { pieces.push_back({offset, length}); };
    if (!words.empty()) pointer_tables().visit_stretches(from_, bytes_, add_piece);
  } else if (read) {
    words = words_in(to_, reinterpret_cast<const void*>(from_), bytes_);
    pieces.push_back({0, bytes_});
  }
  store_in_table(to_, bytes_, words, pieces, overwrites_);
  if (read) store_in_table(to_, bytes_, words_on_their_way(from_, bytes_, words), {}, Overwrites::kMaybe);
}

bool note_late_words(CUdeviceptr to, const void* bytes, std::size_t count) {
  const std::vector<Word> words = words_in(to, bytes, count);
  if (words.empty()) return false;
  if (!managed(to)) {
    OutsideChange change;
    change.prepare(to, 0, worth_keeping(to, words));
    if (change.status() == CUDA_SUCCESS) change.made();
    return true;
  }
  std::size_t known = 0;
  for (const Word& word : words) {
    pointer_tables().visit(to + word.offset, sizeof(CUdeviceptr),
                           [&](std::size_t, CUdeviceptr pointee) { known += pointee == word.value ? 1 : 0; });
  }
  store_in_table(to, count, words, {{0, count}}, Overwrites::kMaybe);
  return known < words.size();
}

void note_copy_out(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  if (bytes > kMostSearched || !any_pointer_tables()) return;
  LateCopies::HostWords words;
  for (const Word& word : words_of_table(from, bytes)) words.emplace_back(to + word.offset, word.value);
  late_copies().note_copy_back(to, bytes, std::move(words));
}

void note_overwritten(CUdeviceptr to, std::size_t bytes, CUstream stream) {
  const bool in_heap = managed(to);
  const bool known = in_heap ? any_pointer_tables() : outside_words().any();
  if (bytes == 0 || !known || capturing(stream)) return;
  if (in_heap) {
    pointer_tables().forget(to, bytes);
  } else {
    outside_words().forget(to, bytes);
  }
}

}  // namespace tessera::preload
