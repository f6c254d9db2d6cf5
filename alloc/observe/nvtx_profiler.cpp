// The profiler interface on NVTX. NVTX is headers only: the first call looks for a tool and fills a table of
// functions; without a tool the table stays empty.
#include "observe/profiler.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)

#include <nvtx3/nvToolsExt.h>

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "base/mutex.hpp"

namespace tessera {
namespace {

nvtxEventAttributes_t named(const char* name, std::uint64_t number) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = number;
  return attributes;
}

constexpr const char* name_of(Link link) {
  constexpr const char* kNames[kLinks] = {"in", "out", "file read", "file write", "peer in", "peer out"};
  return kNames[static_cast<std::size_t>(link)];
}

constexpr std::size_t kMostKinds = 16;  // of marks; further kinds are not reported

class NvtxProfiler final : public Profiler {
 public:
  explicit NvtxProfiler(nvtxDomainHandle_t domain) : domain_(domain) {}

  void push(const char* name, std::uint64_t number) override {
    const nvtxEventAttributes_t attributes = named(name, number);
    nvtxDomainRangePushEx(domain_, &attributes);
  }
  void pop() override { nvtxDomainRangePop(domain_); }

  void begin_move(Link link, Address page, Bytes bytes) override {
    const nvtxRangeId_t begun = begin(name_of(link), bytes.value());
    const MutexLock lock(mutex_);
    const auto [known, is_new] = moves_.try_emplace(page.value(), begun);
    if (is_new) return;
    nvtxDomainRangeEnd(domain_, known->second);  // the previous transfer failed
    known->second = begun;
  }
  void end_move(Address page) override {
    const MutexLock lock(mutex_);
    const auto known = moves_.extract(page.value());
    if (!known.empty()) nvtxDomainRangeEnd(domain_, known.mapped());
  }

  void mark(std::string_view kind, std::uint64_t number) override {
    const MutexLock lock(mutex_);
    auto known = marked_.find(kind);
    if (known != marked_.end()) {
      nvtxDomainRangeEnd(domain_, known->second);
    } else if (marked_.size() < kMostKinds) {
      known = marked_.emplace(kind, 0).first;
    } else {
      return;
    }
    known->second = begin(known->first.c_str(), number);
  }

 private:
  nvtxRangeId_t begin(const char* name, std::uint64_t number) {
    const nvtxEventAttributes_t attributes = named(name, number);
    return nvtxDomainRangeStartEx(domain_, &attributes);
  }

  const nvtxDomainHandle_t domain_;
  Mutex mutex_{LockRank::kObserve};
  std::unordered_map<std::uint64_t, nvtxRangeId_t> moves_ GUARDED_BY(mutex_);    // under way, by page
  std::map<std::string, nvtxRangeId_t, std::less<>> marked_ GUARDED_BY(mutex_);  // by kind
};

Profiler* find_profiler() {
  nvtxInitialize(nullptr);
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("tessera");
  return domain != nullptr ? new NvtxProfiler(domain) : nullptr;
}

}  // namespace

// Never destroyed: threads may wait and pages may move until the process ends.
Profiler* attached_profiler() {
  static Profiler* const attached = find_profiler();
  return attached;
}

}  // namespace tessera

#else

namespace tessera {

Profiler* attached_profiler() { return nullptr; }

}  // namespace tessera

#endif
