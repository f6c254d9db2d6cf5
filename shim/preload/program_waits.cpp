#include "program_waits.hpp"

#include <array>

#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "managed_use.hpp"
#include "true_driver.hpp"
#include "unfinished_uses.hpp"

namespace tessera::preload {
namespace {

constinit ProgramEvents the_events;

}  // namespace

ProgramEvents& program_events() { return the_events; }

QueuedWork::QueuedWork() {
  if (!has_heap()) return;
  allocator_ = running();
  CUcontext context = nullptr;
  const bool told = allocator_ != nullptr && call_true(&TrueDriver::cuCtxGetDevice, &device_) == CUDA_SUCCESS &&
                    call_true(&TrueDriver::cuCtxGetCurrent, &context) == CUDA_SUCCESS;
  if (told && home_of(device_) == context) before_ = tessera_before_wait(allocator_, device_);
}

void QueuedWork::is_over(CUstream stream) const {
  if (!of_green_default(stream)) note(stream_of(stream));
}

// Tessera may have ended meanwhile, together with its context.
void QueuedWork::note(tessera_stream stream) const {
  unfinished_uses().end_finished();
  if (before_ != 0 && running() == allocator_) tessera_note_waited(allocator_, device_, stream, before_);
}

// Never destroyed: exit handlers may record events.
ProgramEvents::Place* ProgramEvents::places() {
  static auto& all = *new std::array<Place, kPlaces>{};
  return all.data();
}

// An event is unknown if its place is taken by another event of which a record is in progress.
std::uint64_t ProgramEvents::begin_record(CUevent event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Place& place = at(event);
  const bool alone = place.under_way++ == 0;
  place.event = event;
  place.last.reset();
  ++place.turn;
  return alone ? place.turn : 0;
}

void ProgramEvents::end_record(CUevent event, std::uint64_t turn, const std::optional<QueuedWork>& work,
                               CUstream stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Place& place = at(event);
  --place.under_way;
  if (work && place.event == event && place.turn == turn) place.last = Record{*work, stream, turn};
}

std::optional<ProgramEvents::Record> ProgramEvents::find(CUevent event) {
  if (!has_heap() || blind_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::lock_guard<std::mutex> lock(mutex_);
  const Place& place = at(event);
  return place.event == event ? place.last : std::nullopt;
}

bool ProgramEvents::is_last(CUevent event, const Record& record) {
  if (blind_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const Place& place = at(event);
  return place.event == event && place.turn == record.turn && place.last.has_value();
}

}  // namespace tessera::preload
