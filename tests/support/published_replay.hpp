// Traces with the access patterns of the published policies' papers, and the results of replaying them on the engine in
// virtual time.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "free_calls.hpp"
#include "lab/replay/replayer.hpp"
#include "trace_text.hpp"

namespace tessera::test {

inline constexpr Bytes kBlock = 32_MiB;  // one large page, which moves as a whole
inline constexpr std::uint64_t kMs = 1'000'000;

class TraceText {
 public:
  using Ids = std::vector<std::uint64_t>;

  std::uint64_t alloc(Bytes bytes, std::string_view tag = {}) {
    text_ += "{\"t\":\"alloc\",\"id\":" + std::to_string(++last_) + ",\"bytes\":" + std::to_string(bytes.value());
    if (!tag.empty()) text_ += ",\"tag\":\"" + std::string(tag) + "\"";
    text_ += "}\n";
    return last_;
  }
  // Each operation of an iteration has a distinct name, like kernels do: iterations are recognised by these names.
  void op(std::uint64_t nanoseconds, const Ids& reads, const Ids& writes = {}) {
    text_ += "{\"t\":\"op\",\"name\":\"op" + std::to_string(ops_++) + "\",\"ns\":" + std::to_string(nanoseconds) +
             ",\"r\":" + list(reads) + ",\"w\":" + list(writes) + "}\n";
  }
  void free(std::uint64_t id) { text_ += "{\"t\":\"free\",\"id\":" + std::to_string(id) + "}\n"; }
  void iteration() {
    ops_ = 0;
    text_ += "{\"t\":\"mark\",\"kind\":\"iteration\",\"n\":" + std::to_string(++marks_) + "}\n";
  }
  Trace done() const { return trace_of(text_); }

 private:
  static std::string list(const Ids& ids) {
    std::string text;
    for (const std::uint64_t id : ids) text += (text.empty() ? "" : ",") + std::to_string(id);
    return "[" + text + "]";
  }

  std::string text_;
  std::uint64_t last_ = 0, marks_ = 0, ops_ = 0;
};

// A host with room for everything, and links on which one kBlock takes `block_takes` nanoseconds.
inline ReplayOptions machine_for(std::string_view policy, Bytes device, double block_takes) {
  ReplayOptions options = with_free_calls();
  options.policy = policy;
  options.device_memory = device;
  options.host_memory = 64_GiB;
  options.h2d = options.d2h = static_cast<std::uint64_t>(static_cast<double>(kBlock.value()) * 1e9 / block_takes);
  return options;
}

inline ReplayResult played(const Trace& trace, const ReplayOptions& options) {
  auto result = replay(trace, options);
  EXPECT_TRUE(result.is_ok()) << options.policy << ": " << result.status().to_string();
  return result.is_ok() ? result.take() : ReplayResult();
}

// The time of the last pass without computation.
inline Nanoseconds stall_of(const ReplayResult& result) { return result.last_pass.time - result.last_pass.compute; }

}  // namespace tessera::test
