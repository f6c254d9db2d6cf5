// Events that several processes record and wait for.
//
// The processes share a page of memory with the number of records and the number of the last completed one. A kernel on
// the stream updates the page or waits for it, because kernels of different streams run concurrently: no other work of
// the device waits. The page is an unnamed file, which another process opens through the process that created it.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "cuda_api.hpp"
#include "sim/sim_driver.hpp"

namespace tessera::softcuda {

class SharedEvent : public std::enable_shared_from_this<SharedEvent> {
 public:
  struct Page {
    std::atomic<std::uint64_t> recorded;
    std::atomic<std::uint64_t> passed;   // the last record with completed work
    std::atomic<std::uint32_t> bell;     // changed at each completion, to wake waiters
    std::atomic<std::int32_t> recorder;  // the process that recorded last
  };

  SharedEvent(int file, Page* page, bool made_here) : file_(file), page_(page), made_here_(made_here) {}
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  static Result<std::shared_ptr<SharedEvent>> make();
  // Errors: native code 205 if the process that created the event has ended, or has destroyed it.
  static Result<std::shared_ptr<SharedEvent>> open(const CUipcEventHandle& handle);
  // Errors: native code 400 for an event created by another process.
  Result<CUipcEventHandle> handle() const;

  Status record(SimDriver& driver, StreamId stream);
  // Later work on the stream waits for the most recent record, of any process.
  Status wait(SimDriver& driver, StreamId stream);
  // Whether the work before the last record is complete. A process that has ended has no work.
  bool passed() const { return passed(page_->recorded); }
  // Blocks until the work of another record is complete, at most this long.
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
