#include "residency/pages/copy_lanes.hpp"

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

void note_left_behind(const Status& status) {
  if (!status.is_ok())
    log_line(LogLevel::kDebug, "a resource of the copy lanes was not released: {}", status.to_string());
}

}  // namespace

Result<std::unique_ptr<CopyLanes>> CopyLanes::create(Driver& driver, DeviceId device, std::size_t lenders) {
  DCHECK_LT(lenders, kMostLanes);
  std::unique_ptr<CopyLanes> lanes(new CopyLanes(driver));
  for (std::size_t i = 0; i < 1 + lenders; ++i) {
    for (int way = 0; way < 2; ++way) {
      TESSERA_TRY_ASSIGN(const StreamId stream, driver.create_stream(device));
      lanes->streams_.push_back(stream);
    }
    lanes->lanes_.push_back({lanes->streams_[2 * i], lanes->streams_[2 * i + 1]});
    lanes->all_.set(i);
  }
  return lanes;
}

CopyLanes::~CopyLanes() {
  for (const StreamId stream : streams_) note_left_behind(driver_.destroy_stream(stream));
}

}  // namespace tessera
