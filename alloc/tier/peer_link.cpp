#include "tier/peer_link.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include "base/log.hpp"
#include "base/page_class.hpp"
#include "tier/patient_access.hpp"

namespace tessera {
namespace {

// A frame of a device, mapped at addresses of its own.
class TriedFrame {
 public:
  explicit TriedFrame(Driver& driver) : driver_(driver) {}
  // Addresses that are still mapped are not released.
  ~TriedFrame() {
    if (mapped_ && !unmap()) return;
    if (range_) note(driver_.release(*range_, kBasePage));
    if (frame_) note(driver_.destroy_frame(*frame_));
  }
  TriedFrame(const TriedFrame&) = delete;
  TriedFrame& operator=(const TriedFrame&) = delete;

  Status make(DeviceId owner) {
    TESSERA_TRY_ASSIGN(frame_, driver_.create_frame(owner, FrameLocation::kDevice, kBasePage));
    TESSERA_TRY_ASSIGN(range_, driver_.reserve(kBasePage, kBasePage));
    TESSERA_TRY(driver_.map(*range_, kBasePage, *frame_));
    mapped_ = true;
    return allow(owner);
  }
  Status allow(DeviceId device) { return set_access_patiently(driver_, *range_, kBasePage, device); }
  Address address() const { return *range_; }

 private:
  bool unmap() {
    Status status = driver_.unmap(*range_, kBasePage);
    if (!status.is_ok()) status = driver_.unmap(*range_, kBasePage);
    note(status);
    return status.is_ok();
  }
  static void note(const Status& status) {
    if (status.is_ok()) return;
    log_line(LogLevel::kWarning, "resources of a peer access test were not released: {}", status.to_string());
  }

  Driver& driver_;
  std::optional<FrameId> frame_;
  std::optional<Address> range_;
  bool mapped_ = false;
};

// The way back must overwrite other bytes. The buffer read into starts out equal to what was sent: on a simulated
// device without contents nothing is written, and that is not an error.
Status there_and_back(Driver& driver, Address own, Address lent, StreamId stream) {
  const std::vector<std::uint64_t> sent(512, 0x5445535345524121), other(sent.size(), ~sent[0]);
  std::vector<std::uint64_t> back = sent;
  const Bytes size(sent.size() * sizeof(sent[0]));
  TESSERA_TRY(driver.copy_in(own, sent.data(), size, stream));
  TESSERA_TRY(driver.copy(lent, own, size, stream));
  TESSERA_TRY(driver.copy_in(own, other.data(), size, stream));
  TESSERA_TRY(driver.copy(own, lent, size, stream));
  TESSERA_TRY(driver.copy_out(back.data(), own, size, stream));
  TESSERA_TRY(driver.synchronize(stream));
  return back == sent ? Status() : Status(Code::kNotSupported, "copies to the peer and back corrupted their bytes");
}

}  // namespace

Status try_peer_link(Driver& driver, DeviceId borrower, DeviceId lender) {
  TriedFrame lent(driver), own(driver);
  TESSERA_TRY(lent.make(lender));
  TESSERA_TRY(lent.allow(borrower));
  TESSERA_TRY(own.make(borrower));
  TESSERA_TRY_ASSIGN(const StreamId stream, driver.create_stream(borrower));
  Status status = there_and_back(driver, own.address(), lent.address(), stream);
  // Copies queued before a failure may still run, and the memory is freed afterwards.
  const Status over = status.is_ok() ? Status() : driver.synchronize(stream);
  const Status destroyed = driver.destroy_stream(stream);
  if (!over.is_ok()) log_line(LogLevel::kDebug, "peer access test: {}", over.to_string());
  return status.is_ok() ? destroyed : status;
}

}  // namespace tessera
