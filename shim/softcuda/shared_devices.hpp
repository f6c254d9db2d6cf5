// Devices that several processes use, as they do a GPU: one amount of memory for all, and engines in turns.
//
// The processes map one file in /dev/shm, with a row for each. A row belongs to a process by its id and start time, so
// what a process held is free when it has ended, however it ended. Each process has the contents of its own frames in
// memory of its own.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "engine_turns.hpp"
#include "node/process.hpp"
#include "sim/sim_hardware.hpp"

namespace tessera::softcuda {

class SharedDevices final : public SimHardware {
 public:
  static constexpr unsigned kMostProcesses = 64;
  static constexpr unsigned kMostDevices = 64;

  // The devices of this name, which exist from the first process that opens them on. Errors: kInvalidArgument for a
  // name with characters other than A-Z a-z 0-9 . _ -, and for another number of devices or amount of memory than the
  // first process had; kIo; kOutOfMemory when kMostProcesses use them.
  static Result<std::unique_ptr<SharedDevices>> open(const std::string& name, int devices, Bytes memory);
  ~SharedDevices() override;

  bool take(DeviceId device, Bytes bytes) override;
  void give(DeviceId device, Bytes bytes) override;
  Bytes free(DeviceId device) override;
  void enter(DeviceId device, SimEngine engine) override { turns(device, engine).enter(); }
  void leave(DeviceId device, SimEngine engine, bool more) override { turns(device, engine).leave(more); }
  void pause(DeviceId device, SimEngine engine) override { turns(device, engine).pause(); }

 private:
  struct Row;
  struct Page;
  SharedDevices(Page* page, unsigned row, int devices);
  static Result<Page*> map(int file);
  static Result<unsigned> join(Page& page, int devices, Bytes memory);
  EngineTurns& turns(DeviceId device, SimEngine engine) {
    return *turns_[device.value() * kSimEngines + static_cast<std::size_t>(engine)];
  }
  Bytes free_now(DeviceId device) const;
  void sweep();

  Page* const page_;
  const ProcessId self_;
  const EngineTurns::Process process_;
  std::vector<std::unique_ptr<EngineTurns>> turns_;  // of each device, by engine
};

}  // namespace tessera::softcuda
