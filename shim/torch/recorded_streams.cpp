#include "recorded_streams.hpp"

#include <algorithm>

namespace tessera::torch {

void RecordedStreams::add(tessera_address block, tessera_stream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& streams = streams_[block];
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
  blocks_.store(streams_.size());
}

std::vector<tessera_stream> RecordedStreams::take(tessera_address block) {
  if (blocks_.load() == 0) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = streams_.find(block);
  if (found == streams_.end()) return {};
  std::vector<tessera_stream> streams = std::move(found->second);
  streams_.erase(found);
  blocks_.store(streams_.size());
  return streams;
}

}  // namespace tessera::torch
