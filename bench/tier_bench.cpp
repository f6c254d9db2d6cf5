// How close the tiers come to the limits of the hardware: copies compared with memcpy, the file with the disk, fresh
// memory with a loop that touches it.
//
// The reference of a copy moves the same bytes, so that the ratio measures our path and not the memory. One more row
// measures the memory itself.
//
//   tier_bench [--smoke] [--json] [--directory DIR]

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "comparison.hpp"
#include "environment.hpp"
#include "fio.hpp"
#include "must.hpp"
#include "raw_file.hpp"
#include "sim/sim_driver.hpp"
#include "tier/first_touch.hpp"
#include "tier/thread_io.hpp"
#include "tier/tier_stack.hpp"
#include "tier/uring_io.hpp"
#include "timing.hpp"

namespace tessera::bench {
namespace {

struct Options {
  bool smoke = false;
  bool json = false;
  std::string directory = "/var/tmp";
  int rounds() const { return smoke ? 1 : 21; }
  int fio_rounds() const { return smoke ? 1 : 9; }  // each round starts a program
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<void, Free>;

Buffer make_buffer(Bytes bytes) {
  void* const memory = std::aligned_alloc((2_MiB).value(), bytes.value());
  // As the host tier does for its memory: a reference with small pages would flatter us.
  [[maybe_unused]] const int wished = ::madvise(memory, bytes.value(), MADV_HUGEPAGE);
  std::memset(memory, 1, bytes.value());
  return Buffer(memory);
}

// Consecutively mapped device pages, and as many pinned host frames.
class CopyBench {
 public:
  CopyBench(PageClass page_class, std::uint64_t pages)
      : page_class_(page_class),
        bytes_(page_bytes(page_class) * pages),
        sim_({.memory = bytes_}, clock_),
        device_(sim_, DeviceId(0), bytes_),
        host_(sim_, bytes_, Bytes()),
        stream_(must(sim_.create_stream(DeviceId(0)))),
        start_(must(sim_.reserve(bytes_, page_bytes(page_class)))) {
    for (std::uint64_t page = 0; page < pages; ++page) {
      device_frames_.push_back(must(device_.take(page_class)));
      host_frames_.push_back(must(host_.take(page_class)));
      std::memset(HostTier::bytes_of(host_frames_.back()), 1, page_bytes(page_class).value());
      must(sim_.map(at(page), page_bytes(page_class), FrameId(device_frames_.back().value)));
    }
    must(sim_.set_access(start_, bytes_, DeviceId(0)));
  }
  ~CopyBench() {
    must(sim_.unmap(start_, bytes_));
    must(sim_.release(start_, bytes_));
    must(sim_.destroy_stream(stream_));
    for (const Frame& frame : device_frames_) device_.give_back(frame);
    for (const Frame& frame : host_frames_) host_.give_back(frame);
  }

  // The same bytes as out() and in(), moved by memcpy alone.
  void plain_out() {
    for (std::uint64_t page = 0; page < host_frames_.size(); ++page) {
      std::memcpy(HostTier::bytes_of(host_frames_[page]), device_bytes(page), page_bytes(page_class_).value());
    }
  }
  void plain_in() {
    for (std::uint64_t page = 0; page < host_frames_.size(); ++page) {
      std::memcpy(device_bytes(page), HostTier::bytes_of(host_frames_[page]), page_bytes(page_class_).value());
    }
  }
  void out() {
    for (std::uint64_t page = 0; page < host_frames_.size(); ++page) {
      must(sim_.copy_out(HostTier::bytes_of(host_frames_[page]), at(page), page_bytes(page_class_), stream_));
    }
    must(sim_.synchronize(stream_));
  }
  // Eight MiB per call, as the engine does it.
  void in_batches(CopyWay way) {
    std::vector<HostCopy> batch;
    for (std::uint64_t page = 0; page < host_frames_.size(); ++page) {
      batch.push_back({at(page), HostTier::bytes_of(host_frames_[page]), page_bytes(page_class_)});
      if (page + 1 < host_frames_.size() && page_bytes(page_class_) * batch.size() < 8_MiB) continue;
      must(sim_.copy_all(way, batch, stream_));
      batch.clear();
    }
    must(sim_.synchronize(stream_));
  }
  void in() {
    for (std::uint64_t page = 0; page < host_frames_.size(); ++page) {
      must(sim_.copy_in(at(page), HostTier::bytes_of(host_frames_[page]), page_bytes(page_class_), stream_));
    }
    must(sim_.synchronize(stream_));
  }

 private:
  Address at(std::uint64_t page) const { return start_ + page_bytes(page_class_) * page; }
  // The simulated device's addresses are the process's own.
  void* device_bytes(std::uint64_t page) const { return reinterpret_cast<void*>(at(page).value()); }

  const PageClass page_class_;
  const Bytes bytes_;
  SteadyClock clock_;
  SimDriver sim_;
  DeviceTier device_;
  HostTier host_;
  const StreamId stream_;
  const Address start_;
  std::vector<Frame> device_frames_;
  std::vector<Frame> host_frames_;
};

// The smallest and the largest: the others lie between.
constexpr PageClass kMeasured[] = {PageClass::kBase, PageClass::kLarge};

void measure_copies(const Options& options, std::vector<Comparison>& results) {
  constexpr double kGoal = 0.9;
  for (const PageClass page_class : kMeasured) {
    const Bytes total = options.smoke ? kLargePage : 512_MiB;
    const Bytes page = page_bytes(page_class);
    CopyBench copies(page_class, total / page);
    const std::string pages = fmt::format("{} MiB pages", page / 1_MiB);
    results.push_back(compare(
        "copy out, " + pages, total, kGoal, options.rounds(), [&] { copies.out(); }, "memcpy of these bytes",
        [&] { copies.plain_out(); }));
    results.push_back(compare(
        "copy in, " + pages, total, kGoal, options.rounds(), [&] { copies.in(); }, "memcpy of these bytes",
        [&] { copies.plain_in(); }));
    if (page_class == PageClass::kLarge) continue;
    results.push_back(compare(
        "copy out, four in a call", total, 0, options.rounds(), [&] { copies.in_batches(CopyWay::kOut); },
        "a call for each", [&] { copies.out(); }));
    results.push_back(compare(
        "copy in, four in a call", total, 0, options.rounds(), [&] { copies.in_batches(CopyWay::kIn); },
        "a call for each", [&] { copies.in(); }));
  }
}

// The cost of the software device's memory itself: the system may back it with small pages only.
void measure_memory(const Options& options, std::vector<Comparison>& results) {
  const Bytes total = options.smoke ? kLargePage : 512_MiB;
  CopyBench copies(PageClass::kLarge, total / kLargePage);
  const Buffer to = make_buffer(total);
  const Buffer from = make_buffer(total);
  const auto ordinary = [&] { std::memcpy(to.get(), from.get(), total.value()); };
  results.push_back(compare(
      "memcpy out of the device", total, 0, options.rounds(), [&] { copies.plain_out(); }, "memcpy of other memory",
      ordinary));
}

// Fresh memory, like a chunk of the host tier before its first use.
class FreshMemory {
 public:
  enum class Pages { kSmall, kHuge };
  FreshMemory(Bytes bytes, Pages pages)
      : bytes_(bytes),
        start_(::mmap(nullptr, bytes.value(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0)) {
    must(start_ == MAP_FAILED ? Status(Code::kOutOfMemory, "no addresses") : Status::ok());
    const int wish = pages == Pages::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
    [[maybe_unused]] const int wished = ::madvise(start_, bytes.value(), wish);
  }
  ~FreshMemory() { ::munmap(start_, bytes_.value()); }
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;

  void touch(unsigned threads) {
    const int refused = touch_first(start_, bytes_, threads);
    must(refused == 0 ? Status::ok() : Status(Code::kOutOfMemory, std::strerror(refused)));
  }
  // A naive program's loop, which is also what a driver does that pins its memory.
  void touch_in_a_loop() {
    for (std::uint64_t at = 0; at < bytes_.value(); at += (4_KiB).value()) {
      static_cast<volatile char*>(start_)[at] = 0;
    }
  }

 private:
  const Bytes bytes_;
  void* const start_;
};

void measure_first_touch(const Options& options, std::vector<Comparison>& results) {
  const Bytes total = options.smoke ? kLargePage : 512_MiB;
  const unsigned threads = touching_threads(total);
  const std::string by = fmt::format("first touch by {} thread{}, ", threads, threads == 1 ? "" : "s");
  for (const auto pages : {FreshMemory::Pages::kSmall, FreshMemory::Pages::kHuge}) {
    const bool huge = pages == FreshMemory::Pages::kHuge;
    results.push_back(compare(
        by + (huge ? "huge pages" : "small pages"), total, 0, options.rounds(),
        [&] { FreshMemory(total, pages).touch(threads); }, "a loop over small pages",
        [&] { FreshMemory(total, FreshMemory::Pages::kSmall).touch_in_a_loop(); }));
  }
}

// All pages of a file tier, moved with as many requests in flight as fill the ring.
class FileBench {
 public:
  FileBench(std::unique_ptr<FileTier> tier, PageClass page_class, Bytes total, std::byte* host)
      : tier_(std::move(tier)), host_(host) {
    tier_->attach(host_, total);  // as for the host tier's memory
    for (std::uint64_t i = 0; i < total / page_bytes(page_class); ++i) {
      frames_.push_back(must(tier_->take(page_class)));
    }
  }
  ~FileBench() {
    for (const Frame& frame : frames_) tier_->give_back(frame);
    tier_->detach(host_);
  }

  void write() { move(true); }
  void read() { move(false); }

 private:
  void move(bool writing) {
    // Enough pages for the ring, and one that waits behind them.
    const Bytes ring = TransferQueue::kChunk * QueueDepth::kMost;
    const std::uint64_t depth = ring / frames_.front().bytes() + 1;
    std::vector<IoTicket> tickets;
    for (std::uint64_t i = 0; i < frames_.size(); ++i) {
      if (i >= depth) must(tier_->wait(tickets[i - depth]));
      std::byte* const host = host_ + (frames_[i].bytes() * i).value();
      tickets.push_back(must(writing ? tier_->write(frames_[i], host) : tier_->read(frames_[i], host)));
    }
    const std::uint64_t waited = frames_.size() - std::min<std::uint64_t>(depth, frames_.size());
    for (std::uint64_t i = waited; i < frames_.size(); ++i) must(tier_->wait(tickets[i]));
  }

  const std::unique_ptr<FileTier> tier_;
  std::byte* const host_;
  std::vector<Frame> frames_;
};

// Several equal files, used in turn: the position of a file on the disk may make it up to a quarter faster or slower
// than the next one, independently of the code that writes it.
template <class File>
class InTurn {
 public:
  static constexpr std::size_t kFiles = 4;

  explicit InTurn(const std::function<std::unique_ptr<File>()>& make) {
    for (std::size_t i = 0; i < kFiles; ++i) files_.push_back(make());
  }
  File& next() { return *files_[turn_++ % kFiles]; }

 private:
  std::vector<std::unique_ptr<File>> files_;
  std::size_t turn_ = 0;
};

void measure_file(const Options& options, std::vector<Comparison>& results) {
  constexpr double kGoal = 0.95;
  constexpr unsigned kRawDepth = 32;  // as in the names of the references
  const Bytes total = options.smoke ? kLargePage : 256_MiB;
  const Buffer host = make_buffer(total);
  auto* const bytes = static_cast<std::byte*>(host.get());
  const bool has_fio = Fio::is_installed();
  if (!has_fio) fmt::print(stderr, "tier_bench: fio is not installed; the file is compared with our own loop only\n");
  for (const PageClass page_class : kMeasured) {
    InTurn<FileBench> files([&] {
      return std::make_unique<FileBench>(must(FileTier::open(options.directory, total)), page_class, total, bytes);
    });
    InTurn<RawFile> raws([&] {
      return std::make_unique<RawFile>(must(make_spill_file(options.directory, total)), TransferQueue::kChunk,
                                       kRawDepth);
    });
    for (std::size_t i = 0; i < InTurn<RawFile>::kFiles; ++i) {  // so that all of them have allocated blocks and can be
                                                                 // read
      files.next().write();
      must(raws.next().write(bytes, total), "the raw write failed");
    }
    const std::string pages = fmt::format("{} MiB pages", page_bytes(page_class) / 1_MiB);
    results.push_back(compare(
        "file write, " + pages, total, kGoal, options.rounds(), [&] { files.next().write(); }, "O_DIRECT, 32 x 1 MiB",
        [&] { must(raws.next().write(bytes, total), "the raw write failed"); }));
    results.push_back(compare(
        "file read, " + pages, total, kGoal, options.rounds(), [&] { files.next().read(); }, "O_DIRECT, 32 x 1 MiB",
        [&] { must(raws.next().read(bytes, total), "the raw read failed"); }));
    if (!has_fio) continue;
    InTurn<Fio> fios([&] {
      return std::make_unique<Fio>(must(make_spill_file(options.directory, total)), total, TransferQueue::kChunk,
                                   kRawDepth);
    });
    for (std::size_t i = 0; i < InTurn<Fio>::kFiles; ++i) must(fios.next().write());
    results.push_back(compare_timed(
        "file write, " + pages, total, kGoal, options.fio_rounds(),
        [&] { return seconds([&] { files.next().write(); }); }, "fio, 32 x 1 MiB",
        [&] { return must(fios.next().write()); }));
    results.push_back(compare_timed(
        "file read, " + pages, total, kGoal, options.fio_rounds(),
        [&] { return seconds([&] { files.next().read(); }); }, "fio, 32 x 1 MiB",
        [&] { return must(fios.next().read()); }));
  }
}

// With threads, as where io_uring is refused, compared with io_uring.
void measure_threads(const Options& options, std::vector<Comparison>& results) {
  constexpr double kGoal = 0.85;
  const Bytes total = options.smoke ? kLargePage : 256_MiB;
  const Buffer host = make_buffer(total);
  auto* const bytes = static_cast<std::byte*>(host.get());
  if (const Status refused = UringIo::open(options.directory, kBasePage).status(); !refused.is_ok()) {
    fmt::print(stderr, "tier_bench: {}; the threads are compared with nothing\n", refused.message());
    return;
  }
  for (const PageClass page_class : kMeasured) {
    const auto make = [&](std::unique_ptr<FileIo> io) {
      return std::make_unique<FileBench>(std::make_unique<FileTier>(std::move(io), total), page_class, total, bytes);
    };
    InTurn<FileBench> by_threads([&] { return make(must(ThreadIo::open(options.directory, total))); });
    InTurn<FileBench> by_ring([&] { return make(must(UringIo::open(options.directory, total))); });
    for (std::size_t i = 0; i < InTurn<FileBench>::kFiles; ++i) by_threads.next().write(), by_ring.next().write();
    const std::string pages = fmt::format("by threads, {} MiB pages", page_bytes(page_class) / 1_MiB);
    results.push_back(compare(
        "file write " + pages, total, kGoal, options.rounds(), [&] { by_threads.next().write(); }, "io_uring",
        [&] { by_ring.next().write(); }));
    results.push_back(compare(
        "file read " + pages, total, kGoal, options.rounds(), [&] { by_threads.next().read(); }, "io_uring",
        [&] { by_ring.next().read(); }));
  }
}

int run(const Options& options) {
  if (!options.smoke && !may_measure(kIsMeasurable)) return EXIT_FAILURE;
  const auto environment = read_environment(TESSERA_BENCH_BUILD_DIR, options.directory);
  std::vector<Comparison> results;
  measure_copies(options, results);
  measure_memory(options, results);
  measure_first_touch(options, results);
  measure_file(options, results);
  measure_threads(options, results);
  if (options.json) {
    const nlohmann::ordered_json report = {
        {"environment", to_json(environment)}, {"smoke", options.smoke}, {"results", to_json(results)}};
    std::cout << report.dump(2) << "\n";
    return EXIT_SUCCESS;
  }
  print(environment);
  print(results);
  if (options.smoke) fmt::print("\nA smoke test: the numbers are meaningless.\n");
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Options options;
  CLI::App app("The tiers compared with memcpy and the raw disk");
  app.add_flag("--smoke", options.smoke, "one small round: a smoke test");
  app.add_flag("--json", options.json, "print one JSON object");
  app.add_option("--directory", options.directory, "directory for the files")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::run(options);
}
