// Events that several processes record and wait for.
//
// They meet in a page of memory: how often the event was recorded, and how far that has come. The work that tells so,
// or waits for it, is a kernel in its stream, because kernels of different streams run side by side: nothing else of
// the device waits. The page is a file without a name, which another process opens through the one that made it.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "cuda_api.hpp"
#include "driver/sim_driver.hpp"

namespace tessera::softcuda {

class SharedEvent : public std::enable_shared_from_this<SharedEvent> {
 public:
  struct Page {
    std::atomic<std::uint64_t> recorded;
    std::atomic<std::uint64_t> passed;   // the last record whose work is over
    std::atomic<std::uint32_t> bell;     // rung with each of them
    std::atomic<std::int32_t> recorder;  // the process of the last record
  };

  SharedEvent(int file, Page* page, bool made_here) : file_(file), page_(page), made_here_(made_here) {}
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  static Result<std::shared_ptr<SharedEvent>> make();
  // Errors: native code 205 when the process that made it, or the event, is gone.
  static Result<std::shared_ptr<SharedEvent>> open(const CUipcEventHandle& handle);
  // Errors: native code 400 for one that another process made.
  Result<CUipcEventHandle> handle() const;

  Status record(SimDriver& driver, StreamId stream);
  // Later work of the stream waits for the last record so far, in whichever process.
  Status wait(SimDriver& driver, StreamId stream);
  // Whether the work of the last record is over. A process that has ended has no work.
  bool passed() const { return passed(page_->recorded); }
  // Until the next record's work is over, or this long.
  void sleep(std::chrono::milliseconds most) const;

 private:
  bool passed(std::uint64_t number) const;
  void pass(std::uint64_t number);
  Status queue(SimDriver& driver, StreamId stream, bool waits, std::uint64_t number);
  static int run(const void* parameters);

  const int file_;
  Page* const page_;
  const bool made_here_;
};

}  // namespace tessera::softcuda
