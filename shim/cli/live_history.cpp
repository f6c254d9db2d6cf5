#include "live_history.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

namespace {

constexpr const char* kWaits = "stall_time_by_cause";

double growth(const TopRow& before, const TopRow& after, const char* group, const char* name) {
  const std::uint64_t old = top_figure(before, group, name), now = top_figure(after, group, name);
  return now < old ? 0 : static_cast<double>(now - old);
}

std::set<std::string> names_in(const TopRow& row, const std::string& group) {
  std::set<std::string> names;
  const auto found = row.stats.find(group);
  if (found == row.stats.end() || !found->is_object()) return names;
  for (const auto& [name, value] : found->items()) names.insert(name);
  return names;
}

std::string tags_in(std::size_t place) { return fmt::format("{}_bytes_by_tag", kPlacesOfPages[place]); }

std::string cause_of_figure(const std::string& figure) { return figure.substr(0, figure.rfind("_ns")); }

}  // namespace

void LiveHistory::add(const TopRow& row) {
  if (last_ && row.written_ns == last_->written_ns) return;
  if (!last_ || !rates_between(*last_, row) || row.written_ns - last_->written_ns > kSlots * slot_ns_) {
    slots_.clear();
    begin_ns_ = row.written_ns;
  } else {
    count(*last_, row);
  }
  last_ = row;
}

void LiveHistory::reach(std::uint64_t time) {
  while (begin_ns_ + slots_.size() * slot_ns_ < time) slots_.emplace_back();
  for (; slots_.size() > kSlots; begin_ns_ += slot_ns_) slots_.pop_front();
}

void LiveHistory::count(const TopRow& before, const TopRow& after) {
  reach(after.written_ns);
  const auto time = static_cast<double>(after.written_ns - before.written_ns);
  const std::uint64_t begin = std::max(before.written_ns, begin_ns_);
  for (std::size_t i = (begin - begin_ns_) / slot_ns_; i < slots_.size(); ++i) {
    const std::uint64_t slot_begin = begin_ns_ + i * slot_ns_;
    const auto part =
        static_cast<double>(std::min(after.written_ns, slot_begin + slot_ns_) - std::max(begin, slot_begin));
    Slot& slot = slots_[i];
    for (std::size_t link = 0; link < kHistoryLinks.size(); ++link) {
      slot.moved[link] += growth(before, after, "moves", kHistoryLinkSums[link]) * part / time;
    }
    for (const std::string& figure : names_in(after, kWaits)) {
      slot.waited_ns[cause_of_figure(figure)] += growth(before, after, kWaits, figure.c_str()) * part / time;
    }
    for (std::size_t place = 0; place < kPlacesOfPages.size(); ++place) {
      const std::string group = tags_in(place);
      for (const std::string& tag : names_in(after, group)) {
        const auto bytes = static_cast<double>(top_figure(after, group.c_str(), tag.c_str()));
        slot.byte_ns[tag][place] += bytes * part;
      }
    }
  }
}

std::optional<RunHistory> LiveHistory::picture() const {
  if (slots_.empty()) return std::nullopt;
  RunHistory run;
  run.program = last_->name;
  run.slot_seconds = static_cast<double>(slot_ns_) / 1e9;
  run.seconds = static_cast<double>(last_->written_ns - begin_ns_) / 1e9;
  run.stats = last_->stats;
  std::set<std::string> causes, tags;
  for (const Slot& slot : slots_) {
    for (const auto& [cause, ns] : slot.waited_ns) {
      if (ns > 0) causes.insert(cause);
    }
    for (const auto& [tag, bytes] : slot.byte_ns) tags.insert(tag);
  }
  const auto series = [&](const std::string& name, auto value) {
    RunHistory::Series all{name, {}};
    for (const Slot& slot : slots_) all.values.push_back(value(slot));
    return all;
  };
  for (std::size_t link = 0; link < kHistoryLinks.size(); ++link) {
    run.links.push_back(series(kHistoryLinks[link], [&](const Slot& slot) { return slot.moved[link]; }));
  }
  for (const std::string& cause : causes) {
    run.stalls.push_back(series(cause, [&](const Slot& slot) {
      const auto found = slot.waited_ns.find(cause);
      return found == slot.waited_ns.end() ? 0.0 : found->second;
    }));
  }
  for (const std::string& tag : tags) {
    RunHistory::Tag& known = run.tags.emplace_back();
    known.name = tag;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const std::uint64_t end = std::min(last_->written_ns, begin_ns_ + (i + 1) * slot_ns_);
      const auto time = static_cast<double>(end - (begin_ns_ + i * slot_ns_));
      const auto found = slots_[i].byte_ns.find(tag);
      for (std::size_t place = 0; place < kPlacesOfPages.size(); ++place) {
        known.bytes[place].push_back(found == slots_[i].byte_ns.end() ? 0.0 : found->second[place] / time);
      }
    }
  }
  return run;
}
