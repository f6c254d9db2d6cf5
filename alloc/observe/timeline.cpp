#include "observe/timeline.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/size_text.hpp"
#include "observe/json_string.hpp"
#include "observe/text_file.hpp"

namespace tessera {
namespace {

enum class Track : unsigned { kStalls, kIn, kOut, kFileRead, kFileWrite, kMarks, kRecomputed, kPeerIn, kPeerOut };
constexpr std::size_t kTracks = 9;
constexpr unsigned kLanesPerTrack = 10'000;  // a range of numbers; lanes are created on demand

constexpr const char* kTrackNames[kTracks] = {"stalls",     "in: host to device", "out: device to host",
                                              "file read",  "file write",         "marks",
                                              "recomputed", "in: peer to device", "out: device to peer"};

Track track_of(EventKind kind) {
  switch (kind) {
    case EventKind::kFetch: return Track::kIn;
    case EventKind::kEvict:
    case EventKind::kForward:
    case EventKind::kDiscard: return Track::kOut;
    case EventKind::kPeerFetch: return Track::kPeerIn;
    case EventKind::kPeerEvict:
    case EventKind::kPeerForward: return Track::kPeerOut;
    case EventKind::kFileRead: return Track::kFileRead;
    case EventKind::kFileWrite: return Track::kFileWrite;
    case EventKind::kRecompute: return Track::kRecomputed;
    case EventKind::kStall: return Track::kStalls;
    case EventKind::kMark: return Track::kMarks;
  }
  return Track::kMarks;
}

bool moves_bytes(EventKind kind) { return kind != EventKind::kStall && kind != EventKind::kMark; }

std::string detail_of(const Event& event) {
  if (event.kind == EventKind::kStall) return std::string(" ") + name_of(event.cause);
  return moves_bytes(event.kind) ? " " + rounded_size(event.bytes) : std::string();
}

double microseconds(Nanoseconds time) { return static_cast<double>(time.value()) / 1000.0; }

class Drawing {
 public:
  explicit Drawing(Nanoseconds origin) : origin_(origin) {}

  void draw(const Event& event) {
    if (event.kind == EventKind::kMark) return draw_mark(event);
    const Track track = track_of(event.kind);
    const unsigned lane = lane_for(event, track);
    add("{{\"name\":\"{}{}\",\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f},"
        "\"args\":{{\"address\":\"0x{:x}\",\"bytes\":{}}}}}",
        name_of(event.kind), detail_of(event), event.device, thread_of(track, lane),
        microseconds(event.begin - origin_), microseconds(event.end - event.begin), event.address.value(),
        event.bytes.value());
  }
  void draw(const TrackSlice& slice) {
    const std::string size = slice.bytes ? " " + rounded_size(slice.bytes) : std::string();
    add("{{\"name\":{},\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}}}",
        json_string(std::string(slice.name) + size), slice.device, thread_of(slice),
        microseconds(slice.begin - origin_), microseconds(slice.end - slice.begin));
  }

  std::string finish(std::uint64_t lost) {
    return fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"lost_events\":{}}},"
        "\"traceEvents\":[\n{}\n]}}\n",
        lost, text_);
  }

 private:
  using Ends = std::array<std::vector<Nanoseconds>, kTracks>;  // end of each lane's last slice

  static unsigned thread_of(Track track, unsigned lane) {
    return static_cast<unsigned>(track) * kLanesPerTrack + lane + 1;
  }

  unsigned thread_of(const TrackSlice& slice) {
    const auto [found, is_new] = own_.emplace(std::pair(slice.device, slice.track), 0);
    if (!is_new) return found->second;
    const auto number = static_cast<unsigned>(own_.size());
    found->second = kTracks * kLanesPerTrack + number;
    know_device(slice.device);
    name_thread(slice.device, found->second, slice.track, number);
    return found->second;
  }

  void draw_mark(const Event& event) {
    lane_for(event, Track::kMarks);
    add("{{\"name\":\"mark {}\",\"ph\":\"i\",\"s\":\"p\",\"pid\":{},\"tid\":{},\"ts\":{:.3f}}}", event.bytes.value(),
        event.device, thread_of(Track::kMarks, 0), microseconds(event.begin - origin_));
  }

  // The first lane that is free at the event's begin.
  unsigned lane_for(const Event& event, Track track) {
    know_device(event.device);
    auto& lanes = ends_[event.device][static_cast<std::size_t>(track)];
    const auto free = std::find_if(lanes.begin(), lanes.end(), [&](Nanoseconds end) { return end <= event.begin; });
    auto lane = static_cast<unsigned>(free - lanes.begin());
    if (free == lanes.end() && lanes.size() < kLanesPerTrack) {
      lanes.push_back(event.end);
      name_lane(event.device, track, lane);
    }
    lane = std::min(lane, kLanesPerTrack - 1);
    lanes[lane] = std::max(lanes[lane], event.end);
    return lane;
  }

  void know_device(unsigned device) {
    if (!ends_.try_emplace(device).second) return;
    add("{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":\"device {}\"}}}}", device, device);
  }

  void name_lane(unsigned device, Track track, unsigned lane) {
    const char* const name = kTrackNames[static_cast<std::size_t>(track)];
    const std::string number = lane == 0 ? std::string() : fmt::format(" {}", lane + 1);
    const unsigned thread = thread_of(track, lane);
    name_thread(device, thread, name + number, kLanesPerTrack + thread);
  }

  void name_thread(unsigned device, unsigned thread, std::string_view name, unsigned place) {
    add("{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}", device, thread,
        json_string(name));
    add("{{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{"
        "\"sort_index\":{}}}}}",
        device, thread, place);
  }

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  const Nanoseconds origin_;
  std::map<unsigned, Ends> ends_;
  std::map<std::pair<unsigned, std::string_view>, unsigned> own_;  // device, track of a slice -> thread
  std::string text_;
};

}  // namespace

std::string timeline_json(std::span<const Event> events, std::uint64_t lost, std::span<const TrackSlice> slices) {
  // The log is in order of end times; lane assignment needs order of begin times.
  std::vector<Event> by_begin(events.begin(), events.end());
  std::stable_sort(by_begin.begin(), by_begin.end(), [](const Event& a, const Event& b) { return a.begin < b.begin; });
  Nanoseconds origin(std::numeric_limits<std::uint64_t>::max());
  if (!by_begin.empty()) origin = by_begin.front().begin;
  for (const TrackSlice& slice : slices) origin = std::min(origin, slice.begin);
  Drawing drawing(origin);
  for (const TrackSlice& slice : slices) drawing.draw(slice);
  for (const Event& event : by_begin) drawing.draw(event);
  return drawing.finish(lost);
}

std::string timeline_json(const EventLog& log, std::span<const TrackSlice> slices) {
  const EventLog::Kept kept = log.kept();
  return timeline_json(kept.events, kept.lost, slices);
}

Status write_timeline(const EventLog& log, const std::string& path, std::span<const TrackSlice> slices) {
  return write_text_file(path, timeline_json(log, slices));
}

}  // namespace tessera
