#include "late_copies.hpp"

#include <algorithm>

#include "careful_reader.hpp"
#include "copied_words.hpp"
#include "lifecycle.hpp"

namespace tessera::preload {
namespace {

// Whether a launch with these words may read the memory that was written.
bool may_read(const WordSpans& words, CUdeviceptr to) {
  tessera_block_info block;
  if (!managed(to)) return true;
  if (!find_block(to, block)) return false;
  const auto is_inside = [&](std::uint64_t word) { return word - block.address < block.capacity; };
  return std::ranges::any_of(words.certain, is_inside) || std::ranges::any_of(words.likely, is_inside) ||
         std::ranges::any_of(words.maybe, is_inside);
}

// The program may have freed the memory in the meantime.
std::vector<char> read_carefully(CUdeviceptr from, std::size_t bytes) {
  std::vector<char> read(bytes);
  const CarefulReader reader;
  read.resize(reader.is_open() ? reader.read(reinterpret_cast<const void*>(from), read.data(), bytes) : 0);
  return read;
}

}  // namespace

std::uint64_t LateCopies::host_function_queued() {
  const std::lock_guard<std::mutex> lock(mutex_);
  functions_.insert(++numbers_);
  pending_.store(functions_.size(), std::memory_order_release);
  return numbers_;
}

void LateCopies::host_function_over(std::uint64_t number) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    functions_.erase(number);
    pending_.store(functions_.size(), std::memory_order_release);
  }
  function_over_.notify_all();
}

void LateCopies::add(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(late_, [&](const Late& late) { return late.to == to && late.bytes <= bytes; });
  if (late_.size() == kMost) late_.pop_front();
  late_.push_back({to, from, bytes, numbers_});
  any_.store(true, std::memory_order_relaxed);
}

void LateCopies::settle(const WordSpans& words) {
  std::deque<Late> ready;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    std::uint64_t awaited = 0;
    for (Late& late : late_) {
      if (is_over(late) || late.waited || in_vain_ >= kMostInVain || !may_read(words, late.to)) continue;
      late.waited = true;
      awaited = std::max(awaited, late.newest);
    }
    const auto over = [&] { return functions_.empty() || *functions_.begin() > awaited; };
    if (awaited != 0 && !over()) (void)function_over_.wait_for(lock, kPatience, over);
    // Unfinished ones are read too, and once more later.
    ready = late_;
    std::erase_if(late_, [this](const Late& late) { return is_over(late); });
    any_.store(!late_.empty(), std::memory_order_relaxed);
  }
  for (const Late& late : ready) {
    const std::vector<char> bytes = read_carefully(late.from, late.bytes);
    const bool news = note_late_words(late.to, bytes.data(), bytes.size());
    const std::lock_guard<std::mutex> lock(mutex_);
    in_vain_ = news ? 0 : in_vain_ + (late.waited ? 1 : 0);
  }
}

void LateCopies::note_copy_back(CUdeviceptr to, std::size_t bytes, HostWords words) {
  if (words.empty() && !any_back_.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(backs_, [&](const Back& back) { return back.to >= to && back.to + back.bytes <= to + bytes; });
  if (!words.empty()) {
    if (backs_.size() == kMost) backs_.pop_front();
    backs_.push_back({to, bytes, std::move(words)});
  }
  any_back_.store(!backs_.empty(), std::memory_order_relaxed);
}

LateCopies::HostWords LateCopies::copied_back(CUdeviceptr from, std::size_t bytes) {
  HostWords words;
  if (!any_back_.load(std::memory_order_relaxed)) return words;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Back& back : backs_) {
    for (const auto& word : back.words) {
      if (word.first >= from && word.first + sizeof(CUdeviceptr) <= from + bytes) words.push_back(word);
    }
  }
  return words;
}

void LateCopies::forget_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  late_.clear();
  backs_.clear();
  any_.store(false, std::memory_order_relaxed);
  any_back_.store(false, std::memory_order_relaxed);
}

LateCopies& late_copies() {
  // Never destroyed: host functions may run when exit handlers do.
  static LateCopies& copies = *new LateCopies(detail::launch_facts.late_copies);
  return copies;
}

}  // namespace tessera::preload
