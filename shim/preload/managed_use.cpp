#include "managed_use.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "capture.hpp"
#include "green_contexts.hpp"
#include "handed_addresses.hpp"
#include "mapped_memory.hpp"
#include "outcome.hpp"
#include "pointer_tables.hpp"
#include "several_devices.hpp"
#include "unfinished_uses.hpp"

namespace tessera::preload {
namespace {

// CUDA's own allocations end at a multiple of this, and its bounds checks have this granularity.
constexpr std::uint64_t kGrain = 512;

// Of memory that the program has mapped side by side, also by handles of the driver.
CUresult check_across(tessera_allocator* allocator, const Extent& extent) {
  const CUdeviceptr end = extent.address + extent.bytes;
  for (CUdeviceptr at = extent.address; at < end;) {
    if (!managed(at)) return CUDA_SUCCESS;  // the driver checks the rest
    tessera_block_info block{};
    block.size = sizeof(block);
    if (!is_mapped(at) || tessera_query(allocator, at, &block) != TESSERA_OK) return CUDA_ERROR_INVALID_VALUE;
    at = block.address + block.bytes;
  }
  return CUDA_SUCCESS;
}

CUresult check(tessera_allocator* allocator, const Extent& extent, tessera_block_info& info) {
  info = {};
  info.size = sizeof(info);
  if (tessera_query(allocator, extent.address, &info) != TESSERA_OK) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint64_t usable = std::min((info.bytes + kGrain - 1) / kGrain * kGrain, info.capacity);
  const std::uint64_t offset = extent.address - info.address;
  if (offset > usable) return CUDA_ERROR_INVALID_VALUE;
  if (extent.bytes <= usable - offset) return CUDA_SUCCESS;
  return is_mapped(extent.address) ? check_across(allocator, extent) : CUDA_ERROR_INVALID_VALUE;
}

std::vector<tessera_range> objects_at(std::span<const tessera_address> addresses) {
  std::vector<tessera_range> objects;
  for (const tessera_address address : addresses) objects.push_back({address, 0});
  return objects;
}

// The stream by which Tessera can order a use. None for a green context's default stream, and for a stream of another
// device than the block's: then the blocks are fetched before the call. A default stream is that of the block's own
// device.
tessera_stream orders_by(CUstream stream, bool foreign = false) {
  const bool is_other = foreign && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
  return is_other || of_green_default(stream) ? TESSERA_NO_STREAM : stream_of(stream);
}

// A table lies in one block, except where the program itself maps several side by side.
bool in_one_block(CUdeviceptr at, CUdeviceptr word) {
  tessera_block_info block{};
  block.size = sizeof(block);
  return tessera_query(running(), word, &block) != TESSERA_OK || block.address <= at || is_mapped(word);
}

}  // namespace

ManagedUse::ManagedUse(std::span<const Extent> extents, CUstream stream, Waits waits, const char* call)
    : allocator_(running()) {
  if (allocator_ == nullptr || entry_.nested()) return;
  unfinished_uses().end_finished();
  std::array<tessera_range, 2> of_one_copy{};
  std::vector<tessera_range> of_batch(extents.size() > of_one_copy.size() ? extents.size() : 0);
  tessera_range* const ranges = of_batch.empty() ? of_one_copy.data() : of_batch.data();
  std::size_t count = 0;
  bool foreign = of_green_default(stream);
  for (const Extent& extent : extents) {
    if (extent.bytes == 0 || !managed(extent.address)) continue;
    tessera_block_info block;
    status_ = check(allocator_, extent, block);
    if (status_ != CUDA_SUCCESS) return;
    ranges[count++] = {extent.address, extent.bytes};
    foreign = foreign || is_foreign(block, stream);
  }
  if (capturing(stream)) {
    std::vector<std::uint64_t> addresses;
    for (std::size_t i = 0; i < count; ++i) addresses.push_back(ranges[i].address);
    resolved_.emplace(addresses, call);
    status_ = resolved_->status();
    return;
  }
  if (foreign) waits_for_ = stream;
  settle(begin(std::span<const tessera_range>(ranges, count), stream, foreign ? Waits::kMay : waits), call);
  stream_ = stream;
  if (waits == Waits::kAll && begun_ && !foreign) queued_.emplace();
}

// The use itself was recorded before the queued work, so it is over as well.
void ManagedUse::returned() {
  if (!queued_) return;
  queued_->is_over(stream_);
  const InPrimary in_primary;
  tessera_use_end_over(allocator_, &use_);
  begun_ = false;
}

ManagedUse::ManagedUse(const WordSpans& words, CUstream stream, const char* kernel, Launched launched,
                       const GivenParameters* given)
    : allocator_(running()), given_(given) {
  if (allocator_ == nullptr || entry_.nested()) return;
  if (capturing(stream)) return;
  if (words.empty()) {
    begin_unnamed(stream, kernel);
    return;
  }
  const bool was_handed = any_handed_addresses() && handed_addresses().may_add(words.certain, in_one_block);
  if (was_handed || any_pointer_tables()) {
    begin_with_tables(words, stream, kernel, launched, was_handed);
    return;
  }
  if (launched == Launched::kOneBlock) handed_addresses().note(kernel, words.certain, {});
  begin_launch(words, stream, kernel, launched);
  if (launched == Launched::kOneBlock) note_handed(words.certain);
}

// As HandedAddresses, which has the reason.
[[gnu::noinline]] void ManagedUse::note_handed(std::span<const std::uint64_t> given) const {
  if (begun_) tessera_note_handed(allocator_, given.data(), given.size());
}

[[gnu::noinline]] void ManagedUse::begin_with_tables(const WordSpans& words, CUstream stream, const char* kernel,
                                                     Launched launched, bool was_handed) {
  Words with_tables(words);
  if (any_pointer_tables()) pointer_tables().add_pointees(with_tables);
  if (launched == Launched::kOneBlock) {
    const std::vector<std::uint64_t> named = with_tables.maybe;
    if (was_handed) handed_addresses().add_handed(with_tables, in_one_block);
    handed_addresses().note(kernel, words.certain, named);
  } else if (was_handed) {
    handed_addresses().add_handed(with_tables, in_one_block);
  }
  begin_launch(with_tables, stream, kernel, launched);
  if (launched == Launched::kOneBlock) note_handed(words.certain);
}

[[gnu::always_inline]] inline void ManagedUse::begin_launch(const WordSpans& words, CUstream stream, const char* kernel,
                                                            Launched launched) {
  const bool maybe_apart = of_green_default(stream) || (launched == Launched::kGraph && several_devices());
  if (maybe_apart && begin_apart(words, stream, kernel)) return;
  const InPrimary in_primary;
  tessera_result result = words.all_certain()
                              ? tessera_use_begin_words(allocator_, words.certain.data(), words.certain.size_bytes(),
                                                        stream_of(stream), kernel, &use_)
                              : begin_graded(words, stream, kernel);
  if (result == TESSERA_NOT_FOUND) [[unlikely]]
    result = begin_without_strays(words, stream, kernel);
  settle(result, kernel != nullptr ? kernel : "cuLaunchKernel");
}

ManagedUse::~ManagedUse() {
  if (!begun_) return;
  if (waits_for_ != nullptr) {
    unfinished_uses().end_after(waits_for_, allocator_, use_);
    return;
  }
  const InPrimary in_primary;
  tessera_use_end(allocator_, &use_);
}

// A separate function, so that other launches do not reserve stack space for it.
[[gnu::noinline]] bool ManagedUse::begin_apart(const WordSpans& words, CUstream stream, const char* call) {
  const std::vector<tessera_range> blocks = objects_at(blocks_if_foreign(words.in_a_row(), stream));
  if (blocks.empty()) return false;
  waits_for_ = stream;
  tessera_result result = begin(blocks, stream, Waits::kMay);
  if (result == TESSERA_OUT_OF_MEMORY && !words.all_certain()) {
    // Either everything or only the certain words: such launches are rare.
    result = begin(objects_at(words.certain), stream, Waits::kMay);
  }
  settle(result, call);
  return true;
}

// Another thread may free one of the blocks meanwhile: then no word is certain any more.
[[gnu::noinline]] tessera_result ManagedUse::begin_without_strays(const WordSpans& words, CUstream stream,
                                                                  const char* kernel) {
  Words live = without_strays(words, given_ != nullptr ? *given_ : GivenParameters());
  const tessera_result result = begin_graded(live, stream, kernel);
  if (result != TESSERA_NOT_FOUND) return result;
  live.maybe.insert(live.maybe.begin(), live.certain.begin(), live.certain.end());
  live.certain.clear();
  return begin_graded(live, stream, kernel);
}

[[gnu::noinline]] tessera_result ManagedUse::begin_graded(const WordSpans& words, CUstream stream, const char* kernel) {
  return tessera_use_begin_graded(allocator_, words.in_a_row().data(), words.certain.size(), words.likely.size(),
                                  words.maybe.size(), stream_of(stream), kernel, &use_);
}

tessera_result ManagedUse::begin(std::span<const tessera_range> ranges, CUstream stream, Waits waits) {
  const auto begin_use = waits == Waits::kNo ? tessera_use_begin_ranges : tessera_use_begin_blocking_ranges;
  const tessera_stream ordered_by = orders_by(stream, waits_for_ != nullptr);  // in the program's own context
  const InPrimary in_primary;
  return begin_use(allocator_, ranges.data(), ranges.size(), ordered_by, TESSERA_WRITE, &use_);
}

void ManagedUse::settle(tessera_result result, const char* call) {
  begun_ = result == TESSERA_OK;
  status_ = cuda_result_said(result, call);
}

void ManagedUse::begin_unnamed(CUstream stream, const char* kernel) {
  CUdevice device = -1;
  if (several_devices()) (void)call_true(&TrueDriver::cuCtxGetDevice, &device);  // -1 counts on every device
  const tessera_stream ordered_by = orders_by(stream);
  const InPrimary in_primary;
  const tessera_result result = tessera_use_begin_unnamed(allocator_, device, ordered_by, kernel, &use_);
  begun_ = result == TESSERA_OK;
  status_ = cuda_result_said(result, "cuLaunchKernel");
}

}  // namespace tessera::preload
