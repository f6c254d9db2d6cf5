#include "live_sampler.hpp"

#include <thread>

namespace {

using std::chrono::duration;

constexpr std::chrono::milliseconds kBetweenReads{20};

std::optional<TopRow> row_of(const LiveProcess& process) {
  const auto sample = process.page->read();
  if (!sample) return std::nullopt;
  auto stats = nlohmann::json::parse(sample->text, nullptr, false);
  if (!stats.is_object()) return std::nullopt;
  return TopRow{process.pid, process.name, sample->written_ns, std::move(stats), std::nullopt};
}

std::uint64_t last_written(const LivePage& page) {
  const auto sample = page.read();
  return sample ? sample->written_ns : 0;
}

}  // namespace

std::vector<TopRow> LiveSampler::look(duration<double> wanted) {
  std::vector<TopRow> rows;
  std::map<Key, TopRow> now;
  std::map<int, int> allocators;
  for (const LiveProcess& process : live_processes()) {
    const Key key{process.pid, allocators[process.pid]++};
    process.page->watch_for(static_cast<std::uint64_t>(wanted.count() * 1e9));
    auto row = row_of(process);
    if (!row) continue;
    const auto before = last_.find(key);
    if (before != last_.end()) row->rates = rates_between(before->second, *row);
    rows.push_back(*row);
    now.emplace(key, std::move(*row));
  }
  last_ = std::move(now);
  return rows;
}

void await_answers(duration<double> wanted) {
  std::vector<std::pair<LiveProcess, std::uint64_t>> asked;
  for (LiveProcess& process : live_processes()) {
    process.page->watch_for(static_cast<std::uint64_t>(wanted.count() * 1e9));
    const std::uint64_t before = last_written(*process.page);
    asked.emplace_back(std::move(process), before);
  }
  const auto deadline = std::chrono::steady_clock::now() + kLongestAnswer;
  for (const auto& [process, before] : asked) {
    while (last_written(*process.page) == before && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kBetweenReads);
    }
  }
}
