#include "api/reports.hpp"

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "api/history_report.hpp"
#include "base/log.hpp"
#include "observe/text_file.hpp"

namespace tessera {
namespace {

constexpr int kHistoryTries = 16;
constexpr std::size_t kBesideFigures = 256;  // in the page of LiveBoard

// The figures that a history has to add up to.
auto progress_of(const StatsSnapshot& stats) {
  const tessera_stats& s = stats.totals;
  return std::tuple(s.bytes_in, s.bytes_out, s.bytes_file_read, s.bytes_file_written, s.bytes_peer_in, s.bytes_peer_out,
                    s.stall_ns);
}

// As of the picture: a move that ended since is in neither.
void take_progress(const HistoryPicture& picture, StatsSnapshot& stats) {
  tessera_stats& s = stats.totals;
  std::uint64_t* const moved[kLinks] = {&s.bytes_in,           &s.bytes_out,     &s.bytes_file_read,
                                        &s.bytes_file_written, &s.bytes_peer_in, &s.bytes_peer_out};
  HistorySlot sums{};
  for (const HistorySlot& slot : picture.slots) {
    for (std::size_t i = 0; i < kLinks; ++i) sums.moved[i] += slot.moved[i];
    for (std::size_t i = 0; i < kStallCauses; ++i) sums.waited[i] += slot.waited[i];
  }
  for (std::size_t i = 0; i < kLinks; ++i) *moved[i] = sums.moved[i].value();
  s.stall_ns = 0;
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    s.stall_ns += sums.waited[i].value();
    const std::string name = name_of(static_cast<StallCause>(i));
    const auto known = std::ranges::find(stats.causes, name, &StatsSnapshot::Stalls::name);
    if (known != stats.causes.end()) {
      known->time = sums.waited[i];
    } else if (sums.waited[i]) {
      stats.causes.push_back({name, 0, sums.waited[i]});
    }
  }
}

}  // namespace

void Reports::start(const Options& options) {
  if (!options.control_dir.empty()) board_ = LiveBoard::open_if_possible();
  if (outputs_.has_any()) {
    ticker_ = std::make_unique<Ticker>("no reports if this process is killed", [this] { keep(); });
  }
}

// With too many tags for the page, only the totals are shown.
std::string Reports::figures_to_show() const {
  StatsSnapshot now = stats_.snapshot();
  std::string text = stats_json(now);
  if (text.size() <= LiveBoard::kCapacity - kBesideFigures) return text;
  now.tags.clear();
  now.tag_pages.clear();
  now.exposures.clear();
  return stats_json(now);
}

void Reports::show() {
  if (board_ && board_->wanted()) board_->publish(figures_to_show());
}

void Reports::keep() {
  outputs_.keep_stats([this] { return stats_json(stats_.snapshot()); });
  outputs_.keep_timeline([this] { return timeline_json(log_); });
  outputs_.keep_history([this] {
    constexpr int kOnce = 1;
    auto text = history_text(kOnce);
    return text.is_ok() ? text.take() : std::string();
  });
}

Status Reports::write_timeline(const std::string& path, std::span<const TrackSlice> slices) const {
  return tessera::write_timeline(log_, path, slices);
}

Status Reports::write_history(const std::string& path) const {
  std::string text;
  TESSERA_TRY_ASSIGN(text, history_text(kHistoryTries));
  return write_text_file(path, text);
}

Result<std::string> Reports::history_text(int tries) const {
  auto picture = log_.history();
  if (!picture) return Status(Code::kInvalidArgument, "no history was recorded");
  StatsSnapshot now = stats_.snapshot();
  // A move that ends in between is in only one of the two.
  bool adds_up = false;
  for (; tries > 0 && !adds_up; --tries) {
    picture = log_.history();
    const auto before = progress_of(std::exchange(now, stats_.snapshot()));
    adds_up = before == progress_of(now);
  }
  if (!adds_up) take_progress(*picture, now);
  return text_of(std::move(*picture), std::move(now), nullptr);
}

std::vector<CostlyRun> Reports::costs() const {
  std::vector<CostlyRun> all;
  for (DeviceHeap* const heap : heaps_.all()) {
    const std::vector<CostlyRun> costs = heap->residency().figures().costs();
    all.insert(all.end(), costs.begin(), costs.end());
  }
  return all;
}

std::string Reports::text_of(HistoryPicture&& picture, StatsSnapshot&& stats, const ProfileBegin* begin) const {
  HistoryReport report{program_invocation_short_name, {}, std::move(picture), {}, {}, {}, std::move(stats)};
  report.policies = heaps_.policies();
  if (begin != nullptr) {
    report.part_from = begin->at;
    report.policies = turns_since(begin->at, report.policies);
  }
  const auto shown = [this](TagId tag) {
    const std::string name = tags_.name_of(tag);
    return name.empty() ? std::string("untagged") : name;
  };
  for (const TagHistory& tag : report.picture.tags) {
    report.tags.push_back(tag.others ? "other tags" : shown(tag.tag));
  }
  const std::vector<CostlyRun> none;
  const CostliestRuns costliest = costs_since(begin == nullptr ? none : begin->costs, costs());
  for (const CostlyRun& run : costliest.runs()) report.blocks.push_back({run, shown(run.tag)});
  return history_json(report) + "\n";
}

Status Reports::begin_profile() {
  if (!log_.begin_part()) return Status(Code::kNotSupported, "no events are kept");
  ProfileBegin begin{log_.now() - began_, stats_.snapshot(), costs()};
  const MutexLock lock(profile_mutex_);
  profile_ = std::move(begin);
  return {};
}

Result<std::string> Reports::end_profile() {
  std::optional<ProfileBegin> begin;
  {
    const MutexLock lock(profile_mutex_);
    begin.swap(profile_);
  }
  auto picture = log_.part();
  if (!begin || !picture) return Status(Code::kInvalidArgument, "tessera_profile_begin was not called");
  log_.end_part();
  StatsSnapshot stats = stats_since(begin->stats, stats_.snapshot());
  take_progress(*picture, stats);
  return text_of(std::move(*picture), std::move(stats), &*begin);
}

Status Reports::finish() {
  Status result;
  const auto keep_first = [&result](Status status) {
    if (result.is_ok()) result = std::move(status);
  };
  const StatsSnapshot last = stats_.snapshot();
  for (const std::string& line : exposure_lines(last)) log_line(LogLevel::kWarning, "{}", line);
  if (const auto line = stats_.outside().line_at_end(Bytes(last.totals.peak_live_bytes))) {
    log_line(LogLevel::kWarning, "{}", *line);
  }
  if (const std::string line = summary_.line_at_end(last.totals); !line.empty()) {
    log_line(LogLevel::kWarning, "{}", line);
  }
  if (outputs_.has_stats()) keep_first(outputs_.write_stats(stats_text(last, outputs_.stats_are_json())));
  if (outputs_.has_timeline()) keep_first(outputs_.write_timeline(timeline_json(log_)));
  if (outputs_.has_history()) {
    const auto history = history_text(kHistoryTries);
    keep_first(history.is_ok() ? outputs_.write_history(history.value()) : history.status());
  }
  if (recorder_.is_on()) keep_first(recorder_.finish());
  return result;
}

}  // namespace tessera
