#include "operator_bracket.hpp"

#include <algorithm>
#include <vector>

namespace tessera::torch {
namespace {

struct Kept {
  tessera_address address;  // first byte of the block
  tessera_access access;
};
using Bracket = std::vector<Kept>;

thread_local std::vector<Bracket> brackets;

// The block that contains the address; 0 if it is not managed, or no longer.
tessera_address block_of(tessera_allocator* allocator, tessera_address address) {
  tessera_block_info info{};
  info.size = sizeof(info);
  return tessera_query(allocator, address, &info) == TESSERA_OK ? info.address : 0;
}

tessera_result keep(tessera_allocator* allocator, Bracket& bracket, tessera_address block, tessera_access access) {
  const auto known =
      std::find_if(bracket.begin(), bracket.end(), [block](const Kept& kept) { return kept.address == block; });
  if (known != bracket.end()) return TESSERA_OK;  // written addresses come first
  const tessera_result pinned = tessera_pin(allocator, block);
  if (pinned == TESSERA_NOT_FOUND) return TESSERA_OK;
  if (pinned == TESSERA_OK) bracket.push_back({block, access});
  return pinned;
}

void unpin_all(tessera_allocator* allocator, const Bracket& bracket) {
  for (const Kept& kept : bracket) (void)tessera_unpin(allocator, kept.address);
}

}  // namespace

tessera_result begin_operator(tessera_allocator* allocator, const tessera_address* addresses, std::size_t count,
                              std::size_t written) {
  Bracket bracket;
  bracket.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const tessera_address block = block_of(allocator, addresses[i]);
    if (block == 0) continue;
    const tessera_result kept = keep(allocator, bracket, block, i < written ? TESSERA_WRITE : TESSERA_READ);
    if (kept == TESSERA_OK) continue;
    unpin_all(allocator, bracket);
    return kept;
  }
  brackets.push_back(std::move(bracket));
  return TESSERA_OK;
}

// The touch comes after the work was queued: fences recorded from now on cover it.
tessera_result end_operator(tessera_allocator* allocator, tessera_stream stream) {
  if (brackets.empty()) return TESSERA_INVALID_ARGUMENT;
  const Bracket bracket = std::move(brackets.back());
  brackets.pop_back();
  tessera_result result = TESSERA_OK;
  for (const Kept& kept : bracket) {
    const tessera_result touched = tessera_touch(allocator, kept.address, stream, kept.access);
    if (result == TESSERA_OK && touched != TESSERA_NOT_FOUND) result = touched;
  }
  unpin_all(allocator, bracket);
  return result;
}

bool in_operator() { return !brackets.empty(); }

tessera_result keep_new_block(tessera_allocator* allocator, tessera_address address) {
  return keep(allocator, brackets.back(), address, TESSERA_WRITE);
}

void let_go(tessera_allocator* allocator, tessera_address address) {
  for (Bracket& bracket : brackets) {
    const auto kept =
        std::find_if(bracket.begin(), bracket.end(), [address](const Kept& k) { return k.address == address; });
    if (kept == bracket.end()) continue;
    (void)tessera_unpin(allocator, address);
    bracket.erase(kept);
  }
}

}  // namespace tessera::torch
