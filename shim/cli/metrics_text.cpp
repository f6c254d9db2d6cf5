#include "metrics_text.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

namespace {

enum class Type { kGauge, kCounter, kUnknown };

struct MetricFigure {
  const char* group;   // of the statistics
  const char* key;     // in the group; empty: every entry of the group is a figure, and `label` has its key
  const char* family;  // without "tessera_" and "_total"
  const char* label;   // `name="value"`; for entries of a group the name, after others with their values
  Type type;
};

// docs/stats.md has the meaning of each. Names that end in _seconds are given in nanoseconds.
constexpr MetricFigure kFigures[] = {
    {"tessera", "devices", "devices", "", Type::kGauge},
    {"blocks", "live_blocks", "live_blocks", "", Type::kGauge},
    {"blocks", "live_bytes", "live_bytes", "", Type::kGauge},
    {"blocks", "peak_live_bytes", "peak_live_bytes", "", Type::kGauge},
    {"blocks", "reserved_bytes", "reserved_bytes", "", Type::kGauge},
    {"blocks", "allocations", "allocations", "", Type::kCounter},
    {"blocks", "frees", "frees", "", Type::kCounter},
    {"blocks", "cache_hits", "cache_hits", "", Type::kCounter},
    {"live_bytes_by_tag", "", "tag_live_bytes", "tag", Type::kGauge},
    {"device_bytes_by_tag", "", "tag_memory_bytes", R"(tier="device",tag)", Type::kGauge},
    {"host_bytes_by_tag", "", "tag_memory_bytes", R"(tier="host",tag)", Type::kGauge},
    {"file_bytes_by_tag", "", "tag_memory_bytes", R"(tier="file",tag)", Type::kGauge},
    {"peer_bytes_by_tag", "", "tag_memory_bytes", R"(tier="peer",tag)", Type::kGauge},
    {"device", "device_capacity", "memory_capacity_bytes", R"(tier="device")", Type::kGauge},
    {"device", "device_used", "memory_used_bytes", R"(tier="device")", Type::kGauge},
    {"device", "device_peak", "memory_peak_bytes", R"(tier="device")", Type::kGauge},
    {"device", "device_spare", "memory_spare_bytes", R"(tier="device")", Type::kGauge},
    {"host", "host_capacity", "memory_capacity_bytes", R"(tier="host")", Type::kGauge},
    {"host", "host_used", "memory_used_bytes", R"(tier="host")", Type::kGauge},
    {"host", "host_peak", "memory_peak_bytes", R"(tier="host")", Type::kGauge},
    {"file", "file_capacity", "memory_capacity_bytes", R"(tier="file")", Type::kGauge},
    {"file", "file_used", "memory_used_bytes", R"(tier="file")", Type::kGauge},
    {"file", "file_peak", "memory_peak_bytes", R"(tier="file")", Type::kGauge},
    {"peer", "peer_capacity", "memory_capacity_bytes", R"(tier="peer")", Type::kGauge},
    {"peer", "peer_used", "memory_used_bytes", R"(tier="peer")", Type::kGauge},
    {"peer", "peer_peak", "memory_peak_bytes", R"(tier="peer")", Type::kGauge},
    {"moves", "bytes_in", "moved_bytes", R"(from="host",to="device")", Type::kCounter},
    {"moves", "bytes_out", "moved_bytes", R"(from="device",to="host")", Type::kCounter},
    {"moves", "bytes_file_read", "moved_bytes", R"(from="file",to="host")", Type::kCounter},
    {"moves", "bytes_file_written", "moved_bytes", R"(from="host",to="file")", Type::kCounter},
    {"moves", "bytes_peer_in", "moved_bytes", R"(from="peer",to="device")", Type::kCounter},
    {"moves", "bytes_peer_out", "moved_bytes", R"(from="device",to="peer")", Type::kCounter},
    {"moves", "fetches", "fetched_pages", "", Type::kCounter},
    {"moves", "evictions", "evicted_pages", R"(how="copied")", Type::kCounter},
    {"moves", "clean_evictions", "evicted_pages", R"(how="clean")", Type::kCounter},
    {"moves", "discards", "evicted_pages", R"(how="discarded")", Type::kCounter},
    {"moves", "forwards", "cancelled_evictions", "", Type::kCounter},
    {"recomputed", "dropped_bytes", "dropped_bytes", "", Type::kCounter},
    {"recomputed", "recomputes", "recomputes", "", Type::kCounter},
    {"recomputed", "recomputed_bytes", "recomputed_bytes", "", Type::kCounter},
    {"recomputed", "recompute_ns", "recompute_seconds", "", Type::kCounter},
    {"unchanged", "checks", "checked_pages", "", Type::kCounter},
    {"unchanged", "checks_changed", "checked_changed_pages", "", Type::kCounter},
    {"unchanged", "unchanged_evictions", "unchanged_evicted_pages", "", Type::kCounter},
    {"unchanged", "unchanged_bytes", "unchanged_bytes", "", Type::kCounter},
    {"waits", "stalls", "stalls", "", Type::kCounter},
    {"waits", "stall_ns", "stall_seconds", "", Type::kCounter},
    {"waits", "late_fetches", "late_fetched_pages", "", Type::kCounter},
    {"stalls_by_cause", "", "stalls_by_cause", "cause", Type::kCounter},
    {"stall_time_by_cause", "", "stall_by_cause_seconds", "cause", Type::kCounter},
    {"uses", "launches", "launches", "", Type::kCounter},
    {"uses", "uses", "block_uses", "", Type::kCounter},
    {"idle", "idle_ns", "idle_seconds", "", Type::kGauge},
    {"idle", "asleep", "asleep", "", Type::kGauge},
    {"idle", "idle_sleeps", "idle_sleeps", "", Type::kCounter},
    {"held", "pinned_bytes", "pinned_bytes", "", Type::kGauge},
    {"held", "exposed_bytes", "exposed_bytes", "", Type::kGauge},
    {"held", "zero_copy_bytes", "zero_copy_bytes", "", Type::kGauge},
    {"held", "reachable_bytes", "reachable_bytes", "", Type::kGauge},
    {"held", "left_unreachable", "left_unreachable_pages", "", Type::kCounter},
    {"held", "exchanges", "exchanged_pages", "", Type::kCounter},
    {"exposed_bytes_by_reason", "", "exposed_by_reason_bytes", "reason", Type::kGauge},
    {"host_blocks", "host_blocks", "host_blocks", "", Type::kGauge},
    {"host_blocks", "host_block_bytes", "host_block_bytes", "", Type::kGauge},
    {"host_blocks", "host_block_peak", "host_block_peak_bytes", "", Type::kGauge},
    {"host_blocks", "host_block_pinned", "host_block_pinned_bytes", "", Type::kGauge},
    {"outside", "driver_host_bytes", "driver_host_bytes", "", Type::kGauge},
    {"outside", "registered_bytes", "registered_bytes", "", Type::kGauge},
    {"outside", "outside_bytes", "outside_bytes", "", Type::kGauge},
    {"outside", "outside_peak", "outside_peak_bytes", "", Type::kGauge},
    {"outside", "graph_peak", "graph_peak_bytes", "", Type::kGauge},
    {"outside_bytes_by_kind", "", "outside_by_kind_bytes", "kind", Type::kGauge},
};

// The kernel may truncate a program's name inside a character: invalid UTF-8 is replaced.
std::string quoted_label(const std::string& text) {
  const std::string valid =
      nlohmann::json::parse(nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  std::string escaped = "\"";
  for (const char c : valid) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped + '"';
}

// Samples by family, because those of one family have to stand together.
class Families {
 public:
  void add(const std::string& family, Type type, const std::string& labels, const nlohmann::json& value) {
    Family& known = families_[family];
    known.type = type;
    const bool is_time = family.ends_with("_seconds");
    known.samples += fmt::format("tessera_{}{}{{{}}} {}\n", family, type == Type::kCounter ? "_total" : "", labels,
                                 is_time ? fmt::format("{}", value.get<double>() / 1e9) : value.dump());
  }

  std::string text() const {
    std::string all;
    for (const auto& [name, family] : families_) {
      all += fmt::format("# TYPE tessera_{} {}\n", name, word(family.type));
      for (const char* unit : {"bytes", "seconds"}) {
        if (name.ends_with(fmt::format("_{}", unit))) all += fmt::format("# UNIT tessera_{} {}\n", name, unit);
      }
      all += family.samples;
    }
    return all;
  }

 private:
  struct Family {
    Type type = Type::kUnknown;
    std::string samples;
  };

  static const char* word(Type type) {
    switch (type) {
      case Type::kGauge: return "gauge";
      case Type::kCounter: return "counter";
      case Type::kUnknown: break;
    }
    return "unknown";
  }

  std::map<std::string, Family> families_;
};

// The cause in a key such as "copy_in_ns".
std::string entry_name(const std::string& key) {
  constexpr std::string_view kUnit = "_ns";
  return key.ends_with(kUnit) ? key.substr(0, key.size() - kUnit.size()) : key;
}

void add_figure(Families& families, const std::string& group, const std::string& key, const nlohmann::json& value,
                const std::string& of_process) {
  if (!value.is_number()) return;
  const auto* const figure = std::find_if(std::begin(kFigures), std::end(kFigures), [&](const MetricFigure& each) {
    return group == each.group && (*each.key == '\0' || key == each.key);
  });
  if (figure == std::end(kFigures)) {
    families.add(fmt::format("{}_{}", group, key), Type::kUnknown, of_process, value);
    return;
  }
  std::string labels = of_process;
  if (*figure->key == '\0') {
    labels += fmt::format(",{}={}", figure->label, quoted_label(entry_name(key)));
  } else if (*figure->label != '\0') {
    labels += fmt::format(",{}", figure->label);
  }
  families.add(figure->family, figure->type, labels, value);
}

// What is a text in the statistics, as labels of one sample.
std::string info_of(const nlohmann::json& stats, const std::string& of_process) {
  std::string labels = of_process;
  const nlohmann::json texts = stats.value("tessera", nlohmann::json::object());
  for (const auto& [key, value] : texts.items()) {
    if (value.is_string()) labels += fmt::format(",{}={}", key, quoted_label(value));
  }
  return fmt::format("tessera_info{{{}}} 1\n", labels);
}

}  // namespace

std::string metrics_text(const std::vector<TopRow>& rows, std::uint64_t now_ns) {
  Families families;
  std::map<int, int> heaps;
  std::string info;
  for (const TopRow& row : rows) {
    const std::string of_process =
        fmt::format("pid=\"{}\",heap=\"{}\",program={}", row.pid, heaps[row.pid]++, quoted_label(row.name));
    info += info_of(row.stats, of_process);
    families.add("sample_age_seconds", Type::kGauge, of_process, now_ns - std::min(now_ns, row.written_ns));
    for (const auto& [group, figures] : row.stats.items()) {
      if (!figures.is_object()) continue;
      for (const auto& [key, value] : figures.items()) add_figure(families, group, key, value, of_process);
    }
  }
  std::string text = families.text();
  if (!info.empty()) text += "# TYPE tessera info\n" + info;
  return text + "# EOF\n";
}
