#include "api/history_report.hpp"

#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "observe/text_file.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;  // incremented when readers of the old format would misread the new one
constexpr const char* kLinkNames[kLinks] = {"in", "out", "file_read", "file_write", "peer_in", "peer_out"};

Json links_of(const HistoryPicture& picture) {
  Json links;
  for (std::size_t link = 0; link < kLinks; ++link) {
    Json& bytes = links[kLinkNames[link]] = Json::array();
    for (const HistorySlot& slot : picture.slots) bytes.push_back(slot.moved[link].value());
  }
  return links;
}

// Only causes that occurred.
Json stalls_of(const HistoryPicture& picture) {
  Json stalls = Json::object();
  for (std::size_t cause = 0; cause < kStallCauses; ++cause) {
    Json times = Json::array();
    bool any = false;
    for (const HistorySlot& slot : picture.slots) {
      times.push_back(slot.waited[cause].value());
      any = any || slot.waited[cause];
    }
    if (any) stalls[name_of(static_cast<StallCause>(cause))] = std::move(times);
  }
  return stalls;
}

Json residency_of(const HistoryReport& report) {
  Json residency = Json::array();
  for (std::size_t i = 0; i < report.picture.tags.size(); ++i) {
    Json tag = {{"tag", report.tags[i]}};
    for (std::size_t place = 0; place < kLocations; ++place) {
      Json& means = tag[name_of(static_cast<Location>(place))] = Json::array();
      for (const double bytes : report.picture.tags[i].bytes[place]) means.push_back(std::llround(bytes));
    }
    residency.push_back(std::move(tag));
  }
  return residency;
}

Json blocks_of(const HistoryReport& report) {
  Json blocks = Json::array();
  for (const auto& [run, tag] : report.blocks) {
    Json block = {{"address", fmt::format("{:#x}", run.address.value())},
                  {"bytes", run.bytes.value()},
                  {"tag", tag},
                  {"gone", run.gone},
                  {"stalls", run.cost.stalls},
                  {"stall_ns", run.cost.stalled.value()}};
    for (std::size_t link = 0; link < kLinks; ++link) {
      block[kLinkNames[link]] = run.cost.moved[link].value();
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

Json policies_of(const HistoryReport& report) {
  Json policies = Json::array();
  for (const auto& [from, name] : report.policies) policies.push_back({{"from_ns", from.value()}, {"name", name}});
  return policies;
}

}  // namespace

std::string history_json(const HistoryReport& report) {
  Json json = {{"tessera_history", kFormat},
               {"program", report.program},
               {"slot_ns", report.picture.slot.value()},
               {"ended_ns", report.picture.ended.value()},
               {"links", links_of(report.picture)},
               {"stalls", stalls_of(report.picture)},
               {"residency", residency_of(report)},
               {"blocks", blocks_of(report)},
               {"policies", policies_of(report)},
               {"stats", Json::parse(stats_json(report.stats))}};
  if (report.part_from) json["part_from_ns"] = report.part_from->value();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status write_history(const HistoryReport& report, const std::string& path) {
  return write_text_file(path, history_json(report) + "\n");
}

}  // namespace tessera
