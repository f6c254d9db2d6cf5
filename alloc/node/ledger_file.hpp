// The ledger's file and its lock.
//
// Why a record lock of the kernel and plain reads and writes, not a mutex in mapped memory: a process that dies
// releases it at once, another process can neither truncate the file under a reader (a fault in the program) nor change
// pointers that a robust mutex keeps in it, and no descriptor of ours stays open in the program.
// docs/decisions/0034-a-ledger-without-a-daemon.md says more.
//
// Thread safety: one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "node/row.hpp"

namespace tessera {

// An interface, so that tests can end a process between any two steps.
class LedgerFile {
 public:
  virtual ~LedgerFile() = default;
  // Opens the file, creates it if it does not exist, and takes its lock. Errors: kBusy when another process has held
  // the lock for `patience`; kIo.
  virtual Status lock(std::chrono::milliseconds patience) = 0;
  // REQUIRES (all below): locked. Reads from the start of the file; returns how many bytes there were.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
  virtual Status write(std::size_t offset, std::span<const std::byte> bytes) = 0;
  // Removes the file. A call of lock() that already waits for it makes a new one. Nothing is written after it.
  virtual Status remove() = 0;
  // Releases the lock and closes the file.
  virtual void unlock() = 0;
};

// The ledger's own name with the version of its layout.
std::string ledger_file_name(const std::string& name);
// A file NAME, or NAME.DEVICE where `device` identifies one, in the ledger folder (ledger_folder.hpp) of the first of
// the existing `parents`. A folder or a file that is not private to the user, or to the group that shares the folder,
// is refused. Errors: kInvalidArgument for a name with characters other than A-Z a-z 0-9 . _ -; kNotFound when none of
// `parents` exists.
Result<std::unique_ptr<LedgerFile>> open_ledger_file(const std::vector<std::string>& parents, const std::string& name,
                                                     const std::string& device = {});

// All files of this version that exist now, also those of devices.
std::vector<std::unique_ptr<LedgerFile>> all_ledger_files(const std::vector<std::string>& parents);
// The devices of which there is a file NAME.DEVICE, in the order of their names; none where open_ledger_file would
// fail.
std::vector<std::string> devices_with_ledgers(const std::vector<std::string>& parents, const std::string& name);

}  // namespace tessera
