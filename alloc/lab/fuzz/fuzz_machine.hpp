// A machine in virtual time with memories that hold stamps and with all fault injectors, running the real allocator.
//
// Thread safety: one thread.
//
// Invariants: calls of the program go to driver(), where nothing fails; calls of the allocator go through faults().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/allocator.hpp"
#include "lab/fuzz/fuzz_program.hpp"
#include "lab/fuzz/stamp_driver.hpp"
#include "lab/fuzz/stamp_file_io.hpp"
#include "sim/fault_driver.hpp"
#include "sim/machine_builder.hpp"

namespace tessera {

// Host memory that takes no real memory, and can be refused.
class RefusedHostPages final : public HostPages {
 public:
  void refuse(bool refused) { refused_ = refused; }
  bool open(void*, Bytes) override;
  void close(void*, Bytes) override {}

 private:
  bool refused_ = false;
};

class FuzzMachine {
 public:
  // Errors: the allocator's.
  static Result<std::unique_ptr<FuzzMachine>> create(const FuzzSetup& setup);
  ~FuzzMachine();

  VirtualClock& clock() { return clock_; }
  SimDriver& sim() { return sim_; }
  StampDriver& driver() { return driver_; }
  FaultDriver& faults() { return *faults_; }
  StampFileIo& disk() { return *disk_; }
  RefusedHostPages& host_pages() { return pages_; }
  Allocator& allocator() { return *allocator_; }

  // Ends all faults.
  void make_peace();
  // Destroys the allocator; returns what has leaked. REQUIRES: the program's streams and events are destroyed.
  std::vector<std::string> end();
  // The first mistake of the allocator that the machine detected.
  std::optional<std::string> violation() const;

 private:
  explicit FuzzMachine(const FuzzSetup& setup);

  VirtualClock clock_;
  StampMemory memory_;
  RefusedHostPages pages_;
  SimDriver sim_;
  StampDriver driver_;
  FaultDriver* faults_ = nullptr;  // owned by the allocator
  StampFileIo* disk_ = nullptr;    // owned by the allocator
  std::optional<std::string> disk_violation_;
  std::unique_ptr<Allocator> allocator_;
};

}  // namespace tessera
