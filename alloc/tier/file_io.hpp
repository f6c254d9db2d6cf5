// Asynchronous reads and writes of the spill file, as an interface.
//
// Why an interface: systems differ in what they permit a process (file_io_choice.hpp), and in virtual time the same
// file tier runs on a model of a disk. tests/contract/file_io_contract.hpp tests all implementations.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

// Names a transfer that was started. Valid until poll or wait has returned anything but kNotReady.
using IoTicket = Id<struct IoTag>;

class FileIo {
 public:
  // More than all engines that share a file start at once; each engine has a bound of its own.
  static constexpr std::size_t kMaxTransfers = 64 * 256;

  virtual ~FileIo() = default;

  // The mechanism that moves the bytes, in one word, for statistics.
  virtual const char* name() const = 0;

  // Starts moving `bytes` between `host` and `offset` in the file.
  // REQUIRES: host, bytes and offset are multiples of 4096; the memory stays valid and, for a
  // write, unchanged until the ticket is finished. Errors: kIo; kBusy when kMaxTransfers are in flight.
  virtual Result<IoTicket> read(void* host, Bytes bytes, Bytes offset) = 0;
  virtual Result<IoTicket> write(const void* host, Bytes bytes, Bytes offset) = 0;

  // kNotReady while the transfer runs, then exactly once its outcome: OK, or kIo.
  virtual Status poll(IoTicket ticket) = 0;
  virtual Status wait(IoTicket ticket) = 0;

  // Memory that transfers will use repeatedly until it is detached: where the system permits, it is registered once
  // instead of at each transfer. A hint. REQUIRES: readable and writable, not attached yet; nothing is in flight in it
  // when it is detached.
  virtual void attach(void*, Bytes) {}
  virtual void detach(void*) {}

  // Reports to the file system that the range's bytes are no longer needed.
  virtual Status discard(Bytes offset, Bytes bytes) = 0;
};

}  // namespace tessera
