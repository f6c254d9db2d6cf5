#include "copied_words.hpp"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "capture.hpp"
#include "division_numbers.hpp"
#include "exposure.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "pointer_tables.hpp"
#include "tensor_maps.hpp"
#include "true_driver.hpp"

namespace tessera::preload {
namespace {

constexpr const char* kOutside = "pointer outside the heap";
constexpr const char* kTooMany = "pointer tables";

// A word in a copy, `offset` bytes from its start.
struct Word {
  std::size_t offset;
  CUdeviceptr value;
};

// A part of a copy that makes one table.
struct Piece {
  std::size_t offset;
  std::size_t bytes;
};

// Words at multiples of eight from where they are copied to, that name live blocks; a tensor map is a
// word at its first byte.
std::vector<Word> words_in(CUdeviceptr to, const void* from, std::size_t bytes) {
  std::vector<Word> words;
  const char* const begin = static_cast<const char*>(from);
  const bool low = blocks_lie_low();
  tessera_block_info info;
  for (std::size_t i = (0 - to) % sizeof(CUdeviceptr); i + sizeof(CUdeviceptr) <= bytes;
       i += sizeof(CUdeviceptr)) {
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

// Fails only when a block cannot come to stay; then the next launch fails likewise, and says so.
void keep(CUdeviceptr word, const char* reason) { (void)expose(word, reason); }

// Whether a word that is stored where nobody tells of its use shall keep its block. Where blocks lie low it has to be
// one that an allocator hands out: their blocks begin at multiples of 256 at least.
bool is_worth_keeping(CUdeviceptr word) { return !blocks_lie_low() || word % 256 == 0; }

void store(CUdeviceptr to, std::size_t bytes, const std::vector<Word>& words,
           const std::vector<Piece>& pieces) {
  if (!managed(to)) {
    for (const Word& word : words) {
      if (is_worth_keeping(word.value)) keep(word.value, kOutside);
    }
    return;
  }
  if (pointer_tables().any()) pointer_tables().forget(to, bytes);
  tessera_block_info holder;
  if (words.empty() || !find_block(to, holder)) return;
  for (const Word& word : words) {
    if (!pointer_tables().add(to + word.offset, word.value, holder.address, holder.bytes)) {
      if (is_worth_keeping(word.value)) keep(word.value, kTooMany);
    }
  }
  for (const Piece& piece : pieces) pointer_tables().join(to + piece.offset, piece.bytes);
}

// Memory that the driver does not know is pageable host memory.
bool is_host(CUdeviceptr address) {
  unsigned type = 0;
  const CUresult known = call_true(&TrueDriver::cuPointerGetAttribute, static_cast<void*>(&type),
                                   CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
  return known != CUDA_SUCCESS || type == CU_MEMORYTYPE_HOST;
}

bool nothing_to_note(std::size_t bytes, CUstream stream) {
  return bytes == 0 || running() == nullptr || detail::range_high.load(std::memory_order_relaxed) == 0 ||
         capturing(stream);
}

}  // namespace

void note_copy_in(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  if (nothing_to_note(bytes, stream)) return;
  if (bytes > kMostSearched) return note_overwritten(to, bytes, stream);
  store(to, bytes, words_in(to, from, bytes), {{0, bytes}});
}

void note_copy_on_device(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (!pointer_tables().any() || nothing_to_note(bytes, stream)) return;
  std::vector<Word> words;
  pointer_tables().visit(from, bytes, [&](std::size_t offset, CUdeviceptr pointee) {
    words.push_back({offset, pointee});
  });
  std::vector<Piece> pieces;
  pointer_tables().visit_stretches(from, bytes, [&](std::size_t offset, std::size_t length) {
    pieces.push_back({offset, length});
  });
  store(to, bytes, words, pieces);
}

void note_copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const bool small = bytes <= kMostSearched;
  if (nothing_to_note(bytes, stream) || (!small && !pointer_tables().any())) return;
  if (!managed(to) && is_host(to)) return;
  if (managed(from)) return note_copy_on_device(to, from, bytes, stream);
  if (!is_host(from)) return note_overwritten(to, bytes, stream);
  note_copy_in(to, reinterpret_cast<const void*>(from), bytes, stream);
}

void note_overwritten(CUdeviceptr to, std::size_t bytes, CUstream stream) {
  if (bytes == 0 || !managed(to) || !pointer_tables().any() || capturing(stream)) return;
  pointer_tables().forget(to, bytes);
}

}  // namespace tessera::preload
