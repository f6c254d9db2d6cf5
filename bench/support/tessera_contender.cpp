// Ours, called as the C API calls it, over a simulated device without contents: mappings cost only bookkeeping.
#include <array>
#include <cstdlib>
#include <iostream>

#include "api/allocator.hpp"
#include "contender.hpp"
#include "must.hpp"
#include "sim/sim_driver.hpp"

namespace tessera::bench {
namespace {

class TesseraContender final : public Contender {
 public:
  explicit TesseraContender(Bytes capacity) {
    auto driver = std::make_unique<SimDriver>(SimOptions{.memory = capacity, .contents = SimContents::kNone}, clock_);
    driver_ = driver.get();
    Options options;
    options.device_memory = capacity;
    options.host_memory = Bytes();
    options.heap_size = 2 * capacity;
    options.log_level = "quiet";
    Foundations foundations{clock_, std::move(driver), must(FileTier::open("", Bytes())), pages_, false};
    allocator_ = must(Allocator::create(std::move(foundations), options));
    for (StreamId& stream : streams_) stream = must(driver_->create_stream(DeviceId(0)));
  }

  std::uint64_t allocate(Bytes bytes, unsigned stream) override {
    const auto block = allocator_->allocate(DeviceId(0), bytes, streams_[stream]);
    return block.is_ok() ? block.value().value() : 0;
  }
  void free(std::uint64_t address, unsigned stream) override {
    if (allocator_->free(Address(address), streams_[stream]).is_ok()) return;
    std::cerr << "alloc_bench: a block could not be freed\n";
    std::exit(EXIT_FAILURE);
  }
  bool touch(std::uint64_t address, unsigned stream) override {
    return allocator_->uses().touch(Address(address), streams_[stream], Access::kRead).is_ok();
  }
  std::optional<Bytes> reserved() const override {
    const MemoryInfo memory = must(driver_->memory_info(DeviceId(0)));
    return memory.total - memory.free;
  }

 private:
  SteadyClock clock_;
  NoHostPages pages_;
  SimDriver* driver_ = nullptr;  // owned by the allocator
  std::unique_ptr<Allocator> allocator_;
  std::array<StreamId, kStreams> streams_;
};

}  // namespace

std::unique_ptr<Contender> make_tessera(Bytes capacity) { return std::make_unique<TesseraContender>(capacity); }

}  // namespace tessera::bench
