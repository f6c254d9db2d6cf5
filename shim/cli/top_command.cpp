#include "top_command.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "live_reader.hpp"
#include "top_view.hpp"

namespace {

using std::chrono::duration;

// A program checks four times a second whether it is watched. On a busy machine an answer takes longer, and a stopped
// program does not answer at all.
constexpr duration<double> kLongestAnswer{3};
constexpr std::chrono::milliseconds kBetweenReads{20};

class Sampler {
 public:
  // The current processes, with what happened since the last call; asks them to keep writing for `wanted`.
  std::vector<TopRow> look(duration<double> wanted) {
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

 private:
  using Key = std::pair<int, int>;

  static std::optional<TopRow> row_of(const LiveProcess& process) {
    const auto sample = process.page->read();
    if (!sample) return std::nullopt;
    auto stats = nlohmann::json::parse(sample->text, nullptr, false);
    if (!stats.is_object()) return std::nullopt;
    return TopRow{process.pid, process.name, sample->written_ns, std::move(stats), std::nullopt};
  }

  std::map<Key, TopRow> last_;
};

std::uint64_t last_written(const LivePage& page) {
  const auto sample = page.read();
  return sample ? sample->written_ns : 0;
}

// Returns when each program has written once more, or after kLongestAnswer.
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

void print(const std::vector<TopRow>& rows, bool json) {
  if (json) {
    fmt::print("{}\n", top_json_line(rows));
  } else {
    fmt::print("{}{}", ::isatty(STDOUT_FILENO) != 0 ? "\033[H\033[J" : "", top_table(rows));
  }
  std::fflush(stdout);
}

}  // namespace

int top_command(const TopOptions& options) {
  const duration<double> interval(options.interval);
  const auto wanted = interval + 2 * kLongestAnswer;
  Sampler sampler;
  await_answers(wanted);
  sampler.look(wanted);
  do {
    std::this_thread::sleep_for(interval);
    // A single sample waits for figures that cover the whole interval. A continuous display shows a stopped program as
    // it last was.
    if (options.once) await_answers(wanted);
    print(sampler.look(wanted), options.json);
  } while (!options.once && std::ferror(stdout) == 0);
  return 0;
}
