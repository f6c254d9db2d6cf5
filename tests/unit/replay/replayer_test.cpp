#include "lab/replay/replayer.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>

#include "allocator_machine.hpp"
#include "free_calls.hpp"
#include "lab/replay/replay_report.hpp"
#include "trace_text.hpp"

namespace tessera {
namespace {

constexpr Bytes kLargeBlock = 32_MiB;
constexpr std::uint64_t kOpTime = 1'000'000;

std::uint64_t stalled(const ReplayResult& result, StallCause cause) {
  return result.last_pass.stalls.by_cause[static_cast<std::size_t>(cause)].value();
}

// A device for two blocks, with a link that moves one in a millisecond.
ReplayOptions two_blocks() {
  ReplayOptions options = test::with_free_calls();
  options.policy = "lru";
  options.device_memory = 2 * kLargeBlock;
  options.host_memory = 1_GiB;
  options.h2d = options.d2h = kLargeBlock.value() * 1000;
  return options;
}

ReplayResult played(const Trace& trace, const ReplayOptions& options) {
  auto result = replay(trace, options);
  EXPECT_TRUE(result.is_ok()) << result.status().to_string();
  return result.is_ok() ? result.take() : ReplayResult();
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Replayer, ATraceThatFitsTakesItsComputeTime) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + op_line(kOpTime, "w", 1) + alloc_line(2, kLargeBlock) +
                               op_line(2 * kOpTime, "w", 2) + op_line(3 * kOpTime, "r", 1));
  const ReplayResult result = played(trace, two_blocks());
  EXPECT_EQ(result.makespan, Nanoseconds(6 * kOpTime));
  EXPECT_EQ(result.lower_bound, Nanoseconds(6 * kOpTime));
  EXPECT_EQ(result.stats.bytes_in + result.stats.bytes_out, 0U);
}

// Two pages have their frames created and are mapped while the device has nothing to do.
TEST(Replayer, FramesAndMappingsTakeTheTimeOfTheProgram) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + alloc_line(2, kLargeBlock) + op_line(kOpTime, "w", 1));
  ReplayOptions options = two_blocks();
  const SimCallTimes measured = kMeasuredCalls;
  EXPECT_EQ(ReplayOptions().mapping_time, measured.mapping);
  EXPECT_EQ(ReplayOptions().copy_turn, measured.copy_turn);
  EXPECT_EQ(ReplayOptions().frame_time, measured.frame);
  options.mapping_time = measured.mapping;
  EXPECT_EQ(played(trace, options).makespan, Nanoseconds(kOpTime) + measured.mapping * 2);
  options.frame_time = measured.frame;
  EXPECT_EQ(played(trace, options).makespan, Nanoseconds(kOpTime) + (measured.mapping + measured.frame) * 2);
}

// The device waits for each operation but the first of a program that takes longer to queue it, and is never behind it.
TEST(Replayer, TheProgramTakesTimeToQueueAnOperation) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + op_line(kOpTime, "w", 1) + op_line(kOpTime, "r", 1) +
                               op_line(kOpTime, "r", 1));
  ReplayOptions options = two_blocks();
  options.launch_time = Nanoseconds(kOpTime / 4);
  EXPECT_EQ(played(trace, options).makespan, Nanoseconds(3 * kOpTime + kOpTime / 4));
  options.launch_time = Nanoseconds(3 * kOpTime);
  EXPECT_EQ(played(trace, options).makespan, Nanoseconds(9 * kOpTime + kOpTime));
}

// While the program computes, copies that it does not wait for go on, and what they are for begins.
TEST(Replayer, MovesGoOnWhileTheProgramComputes) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + op_line(kOpTime, "w", 1) + alloc_line(2, kLargeBlock) +
                               op_line(kOpTime, "w", 2) + alloc_line(3, kLargeBlock) + op_line(kOpTime, "w", 3) +
                               op_line(kOpTime, "r", 1));
  ReplayOptions options = two_blocks();
  const ReplayResult fast = played(trace, options);
  options.launch_time = Nanoseconds(10 * kOpTime);
  const ReplayResult slow = played(trace, options);
  EXPECT_EQ(slow.stats.bytes_out, fast.stats.bytes_out);
  EXPECT_LE(slow.makespan, Nanoseconds(4 * 11 * kOpTime + 2 * kOpTime))
      << "a copy out and one in, of a millisecond each";
}

// Computed by hand, in milliseconds. Operations a and b run 0-1 and 1-2. The third block needs the first one's room:
// copied out 1-2, after a. c runs 2-3, the second block is copied out 2-3, the first fetched 3-4, and d runs 4-5: one
// millisecond without computation.
TEST(Replayer, AStallIsExactlyTheTimeInWhichTheDeviceWaitsForACopy) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + op_line(kOpTime, "w", 1) + alloc_line(2, kLargeBlock) +
                               op_line(kOpTime, "w", 2) + alloc_line(3, kLargeBlock) + op_line(kOpTime, "w", 3) +
                               op_line(kOpTime, "r", 1));
  const ReplayResult result = played(trace, two_blocks());
  EXPECT_EQ(result.bounds.compute, Nanoseconds(4 * kOpTime));
  EXPECT_EQ(result.makespan, Nanoseconds(5 * kOpTime));
  EXPECT_EQ(result.lower_bound, Nanoseconds(4 * kOpTime));
  EXPECT_EQ(result.stats.bytes_in, kLargeBlock.value());
  EXPECT_EQ(result.stats.late_fetches, 1U);
  EXPECT_EQ(result.stats.device_peak, (2 * kLargeBlock).value());
  EXPECT_EQ(stalled(result, StallCause::kCopyIn), kOpTime);
  EXPECT_EQ(result.last_pass.stalls.total(), Nanoseconds(kOpTime));
}

// As above, but c takes a quarter: it runs 2-2.25, and then nothing runs until the second block has been copied out at
// 3, and the first fetched at 4. The waits for room before that are hidden by running operations.
TEST(Replayer, AStallIsChargedToItsCauseAtEachMoment) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + op_line(kOpTime, "w", 1) + alloc_line(2, kLargeBlock) +
                               op_line(kOpTime, "w", 2) + alloc_line(3, kLargeBlock) + op_line(kOpTime / 4, "w", 3) +
                               op_line(kOpTime, "r", 1));
  const ReplayResult result = played(trace, two_blocks());
  EXPECT_EQ(result.makespan, Nanoseconds(5 * kOpTime));
  EXPECT_EQ(stalled(result, StallCause::kCopyOut), kOpTime * 3 / 4);
  EXPECT_EQ(stalled(result, StallCause::kCopyIn), kOpTime);
  EXPECT_EQ(result.last_pass.stalls.total(), result.makespan - result.bounds.compute);
}

// The same replay as a timeline: what ran on the stream, what it waited for, and each copy.
TEST(Replayer, ATimelineRecordsOperations) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + op_line(kOpTime, "w", 1) + alloc_line(2, kLargeBlock) +
                               op_line(kOpTime, "w", 2) + alloc_line(3, kLargeBlock) + op_line(kOpTime, "w", 3) +
                               op_line(kOpTime, "r", 1));
  ReplayOptions options = two_blocks();
  const ReplayResult plain = played(trace, options);
  options.timeline = ::testing::TempDir() + "replayer_test.timeline.json";
  EXPECT_EQ(replay_json(trace, played(trace, options)), replay_json(trace, plain));
  const std::string text = text_of(options.timeline);
  std::map<int, std::string> tracks;
  using Slices = std::vector<std::tuple<std::string, double, double>>;  // name, begin and end in milliseconds
  Slices stream;
  std::map<std::string, std::pair<double, double>> link;  // when it carried data
  std::map<std::string, std::uint64_t> moved;
  const auto drawn = nlohmann::json::parse(text);
  EXPECT_EQ(drawn["otherData"]["lost_events"], 0);
  for (const auto& event : drawn["traceEvents"]) {
    if (event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    const std::string track = tracks.at(event["tid"]);
    const double begin = event["ts"].get<double>() / 1000, end = begin + event["dur"].get<double>() / 1000;
    if (track == "stream 0") stream.emplace_back(event["name"], begin, end);
    if (track.starts_with("link")) link.try_emplace(track, begin, end).first->second.second = end;
    if (event.contains("args")) moved[track] += event["args"]["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(stream, (Slices{{"op", 0, 1}, {"op", 1, 2}, {"op", 2, 3}, {"stall copy_in", 3, 4}, {"op", 4, 5}}));
  EXPECT_EQ(link.at("link out"), std::pair(1.0, 3.0));
  EXPECT_EQ(link.at("link in"), std::pair(3.0, 4.0));
  EXPECT_EQ(moved["in: host to device"], plain.stats.bytes_in);
  EXPECT_EQ(moved["out: device to host"], plain.stats.bytes_out);
  EXPECT_GT(moved.count("stalls"), 0U);
  played(trace, options);
  EXPECT_EQ(text_of(options.timeline), text) << "the same bytes each time";
  options.timeline = "/no/such/folder/t.json";
  EXPECT_EQ(replay(trace, options).status().code(), Code::kIo);
}

// As above, and the first block can be recomputed in half of a copy's time: once the link's speed is known, it is no
// longer copied. Recomputation takes time of the stream that needs the block.
TEST(Replayer, RecomputesInsteadOfCopyingWhenCheaper) {
  const auto text = [](std::uint64_t recompute) {
    std::string lines;
    for (std::uint64_t id = 1; id <= 3; ++id) {
      lines += R"({"t":"alloc","id":)" + std::to_string(id) + R"(,"bytes":)" + std::to_string(kLargeBlock.value()) +
               R"(,"recompute_ns":)" + std::to_string(recompute) + "}\n";
    }
    for (std::uint64_t id = 1; id <= 3; ++id) lines += op_line(kOpTime / 10, "w", id);
    for (int round = 0; round < 8; ++round) {
      for (std::uint64_t id = 1; id <= 3; ++id) lines += op_line(kOpTime / 10, "r", id);
    }
    return lines;
  };
  const ReplayResult cheap = played(trace_of(text(kOpTime / 2)), two_blocks());
  const ReplayResult dear = played(trace_of(text(100 * kOpTime)), two_blocks());
  EXPECT_EQ(dear.stats.recomputes, 0U);
  EXPECT_GT(cheap.stats.recomputes, 0U);
  EXPECT_EQ(cheap.stats.recompute_ns, cheap.stats.recomputes * kOpTime / 2);
  EXPECT_LT(cheap.stats.bytes_in, dear.stats.bytes_in);
  EXPECT_LT(cheap.makespan, dear.makespan);
  EXPECT_GE(cheap.makespan, cheap.bounds.compute + Nanoseconds(cheap.stats.recompute_ns));
  EXPECT_EQ(cheap.lower_bound, cheap.bounds.compute) << "nothing has to be moved";
  EXPECT_EQ(cheap.last_pass.stalls.recompute, Nanoseconds(cheap.stats.recompute_ns));
  EXPECT_EQ(cheap.last_pass.stalls.total(), cheap.last_pass.time - cheap.last_pass.compute);
}

// From its line on, until the next write or the line that ends it.
TEST(Replayer, RecomputesWithTheRecordedCost) {
  const auto regen = [](std::uint64_t id, std::uint64_t time) {
    return R"({"t":"recompute","id":)" + std::to_string(id) + R"(,"recompute_ns":)" + std::to_string(time) + "}\n";
  };
  const auto recomputes = [&](auto behind) {
    std::string text;
    for (std::uint64_t id = 1; id <= 3; ++id) {
      text += alloc_line(id, kLargeBlock) + op_line(kOpTime / 10, "w", id) + regen(id, kOpTime / 2) + behind(id);
    }
    for (int round = 0; round < 8; ++round) {
      for (std::uint64_t id = 1; id <= 3; ++id) text += op_line(kOpTime / 10, "r", id);
    }
    const ReplayResult result = played(trace_of(text), two_blocks());
    EXPECT_EQ(result.stats.recompute_ns, result.stats.recomputes * kOpTime / 2);
    return result.stats.recomputes;
  };
  EXPECT_GT(recomputes([](std::uint64_t) { return std::string(); }), 0U);
  EXPECT_EQ(recomputes([](std::uint64_t id) { return op_line(kOpTime / 10, "w", id); }), 0U);
  EXPECT_EQ(recomputes([&](std::uint64_t id) { return regen(id, 0); }), 0U);
}

// With one stream, to the nanosecond: also if host memory is short, and if much is freed and allocated.
TEST(Replayer, TheCausesOfStallsAreAllThatThePassTakesBeyondItsOperations) {
  for (const std::string policy : {"lru", "recency", "auto"}) {
    const std::string text = random_trace(3, 60, policy == "auto" ? 60 : 600);  // a simulation takes some time
    for (const Bytes host : {256_MiB, 16_GiB}) {
      for (const std::uint32_t iterations : {1U, 3U}) {
        ReplayOptions options = two_blocks();
        options.policy = policy;
        options.device_memory = 640_MiB;
        options.host_memory = host;
        options.file_memory = 16_GiB;
        options.iterations = iterations;
        const ReplayResult result = played(trace_of(text), options);
        const std::string what = policy + " " + std::to_string(host / 1_MiB);
        const StreamStalls& stalls = result.last_pass.stalls;
        EXPECT_EQ(stalls.total(), result.last_pass.time - result.last_pass.compute) << what;
        EXPECT_GT(stalled(result, StallCause::kCopyIn), 0U) << what;
        EXPECT_GT(stalled(result, StallCause::kCopyOut), 0U) << what;
        EXPECT_EQ(stalled(result, StallCause::kFileRead) != 0, host < 1_GiB) << what;
        const bool writes = stalled(result, StallCause::kFileWrite) != 0;
        EXPECT_TRUE(writes ? host < 1_GiB : host >= 1_GiB || policy == "auto") << what << ": a plan may hide them";
        EXPECT_EQ(stalled(result, StallCause::kWork), 0U) << what << ": the one stream is never behind another";
        EXPECT_EQ(stalls.recompute + stalls.other, Nanoseconds()) << what;
      }
    }
  }
}

// Operations a and b run 0-1 and 1-2 on the first stream, in milliseconds. The third block gets the first one's room at
// 2, and c runs on the second stream until 3.5: the busiest stream waits for it.
TEST(Replayer, ThePassIsNotOverBeforeTheOtherStreams) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + op_line(kOpTime, "w", 1) + alloc_line(2, kLargeBlock) +
                               op_line(kOpTime, "w", 2) + alloc_line(3, kLargeBlock) +
                               R"({"t":"op","ns":1500000,"stream":1,"w":[3]})"
                               "\n");
  const ReplayResult result = played(trace, two_blocks());
  EXPECT_EQ(result.makespan, Nanoseconds(kOpTime * 7 / 2));
  EXPECT_EQ(stalled(result, StallCause::kWork), kOpTime * 3 / 2);
  EXPECT_EQ(result.last_pass.stalls.total(), result.makespan - result.bounds.compute);
}

// The second operation of the busiest stream is the 302nd: the program queues it when the 46th, which is the 45th of
// the other stream, is over.
TEST(Replayer, AFullQueueMakesTheProgramWait) {
  std::string text = alloc_line(1, kLargeBlock) + op_line(1000, "r", 1);
  for (int i = 0; i < 300; ++i)
    text += R"({"t":"op","ns":100,"stream":1,"r":[1]})"
            "\n";
  const ReplayResult result = played(trace_of(text + op_line(39'000, "r", 1)), two_blocks());
  EXPECT_EQ(result.makespan, Nanoseconds(4500 + 39'000));
  EXPECT_EQ(stalled(result, StallCause::kWork), 3500U);
  EXPECT_EQ(result.last_pass.stalls.total(), Nanoseconds(3500));
}

// Sixteen layers, written in forward and read in reverse order, on a device for half of them; a step takes as long as
// one copy: each link direction is idle half of the time.
TEST(Replayer, AutoHidesNearlyAllMovesOnceItKnowsTheIteration) {
  std::string text;
  constexpr std::uint64_t kLayers = 16;
  for (std::uint64_t i = 1; i <= kLayers; ++i) text += alloc_line(i, kLargeBlock);
  text += R"({"t":"mark","kind":"iteration","n":1})"
          "\n";
  for (std::uint64_t i = 1; i <= kLayers; ++i) text += op_line(kOpTime, "w", i);
  for (std::uint64_t i = kLayers; i > 0; --i) text += op_line(kOpTime, "r", i);
  ReplayOptions options = two_blocks();
  options.device_memory = kLayers / 2 * kLargeBlock;
  options.iterations = 8;
  options.policy = "lru";
  const ReplayResult lru = played(trace_of(text), options);
  options.policy = "auto";
  const ReplayResult learned = played(trace_of(text), options);
  ASSERT_EQ(learned.iterations.size(), 8U);
  EXPECT_LT(learned.makespan, lru.makespan);
  EXPECT_LE(learned.iterations.back(), Nanoseconds(2 * kLayers * kOpTime * 110 / 100));
}

TEST(Replayer, StreamsRunBesideEachOther) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + R"({"t":"op","ns":100,"stream":1,"r":[1]}
{"t":"op","ns":70,"stream":2,"r":[1]}
{"t":"op","ns":20,"stream":2,"r":[1]}
)");
  EXPECT_EQ(played(trace, two_blocks()).makespan, Nanoseconds(100));
}

TEST(Replayer, IterationsAreTimedFromMarkToMark) {
  const Trace trace = trace_of(alloc_line(1, kLargeBlock) + R"({"t":"mark","kind":"iteration","n":1})" + "\n" +
                               op_line(kOpTime, "w", 1) + op_line(kOpTime, "r", 1));
  ReplayOptions options = two_blocks();
  options.iterations = 3;
  const ReplayResult result = played(trace, options);
  EXPECT_EQ(result.iterations, std::vector<Nanoseconds>(3, Nanoseconds(2 * kOpTime)));
  EXPECT_EQ(result.makespan, Nanoseconds(6 * kOpTime));
}

TEST(Replayer, TheLastPassIsReportedSeparately) {
  std::string text = alloc_line(1, kLargeBlock) + alloc_line(2, kLargeBlock) + alloc_line(3, kLargeBlock) +
                     op_line(kOpTime, "w", 1) + "{\"t\":\"mark\",\"kind\":\"iteration\",\"n\":1}\n";
  for (std::uint64_t i = 1; i <= 3; ++i) text += op_line(kOpTime, "w", i);
  ReplayOptions options = two_blocks();
  options.iterations = 5;
  const ReplayResult result = played(trace_of(text), options);
  EXPECT_EQ(result.last_pass.iterations, 1U);
  EXPECT_EQ(result.last_pass.ops, 3U);
  EXPECT_EQ(result.last_pass.time, result.iterations.back());
  EXPECT_EQ(result.last_pass.compute, Nanoseconds(3 * kOpTime));
  EXPECT_GE(result.last_pass.lower_bound, Nanoseconds(3 * kOpTime));
  // A block is evicted for each that is written; those at the beginning may have been evicted before.
  EXPECT_GT(result.last_pass.out, Bytes());
  EXPECT_LE(result.last_pass.out, 3 * kLargeBlock);
  EXPECT_LT(result.last_pass.out.value(), result.stats.bytes_out);
}

// The number of one-page blocks that passed a link of the timeline from `begin` on.
std::uint64_t passed(const nlohmann::json& picture, const std::string& link, Nanoseconds begin) {
  std::uint64_t blocks = 0, track = 0;
  for (const auto& event : picture.at("traceEvents")) {
    if (event.at("name") == "thread_name" && event.at("args").at("name") == link) track = event.at("tid");
  }
  for (const auto& event : picture.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("tid") != track) continue;
    const double end = event.at("ts").get<double>() + event.at("dur").get<double>();
    blocks += end > static_cast<double>(begin.value()) / 1000.0 ? 1 : 0;
  }
  return blocks;
}

// However far the program was ahead of its device when the pass began.
TEST(Replayer, TheLastPassCountsWhatPassedTheLinksInItsTime) {
  std::string text;
  for (std::uint64_t i = 1; i <= 4; ++i) text += alloc_line(i, kLargeBlock);
  text += op_line(kOpTime, "w", 1) + "{\"t\":\"mark\",\"kind\":\"iteration\",\"n\":1}\n";
  for (std::uint64_t i = 1; i <= 4; ++i) text += op_line(kOpTime, "w", i);
  for (const std::uint32_t iterations : {1U, 2U, 7U, 200U}) {
    ReplayOptions options = two_blocks();
    options.iterations = iterations;
    options.timeline = testing::TempDir() + "tessera-last-pass.json";
    const ReplayResult result = played(trace_of(text), options);
    const auto picture = nlohmann::json::parse(text_of(options.timeline));
    const Nanoseconds began = result.makespan - result.last_pass.time;
    EXPECT_EQ(result.last_pass.in, kLargeBlock * passed(picture, "link in", began)) << iterations;
    EXPECT_EQ(result.last_pass.out, kLargeBlock * passed(picture, "link out", began)) << iterations;
    if (iterations > 1) {
      EXPECT_GE(result.last_pass.in, 3 * kLargeBlock) << iterations;
    }
  }
}

TEST(Replayer, TheSameTraceAndOptionsGiveTheSameBytes) {
  for (const char* policy : {"lru", "recency"}) {
    const Trace trace = trace_of(random_trace(7, 60, 2000));
    ReplayOptions options = two_blocks();
    options.policy = policy;
    options.device_memory = 640_MiB;
    options.host_memory = 512_MiB;
    options.file_memory = 16_GiB;
    const std::string first = replay_json(trace, played(trace, options));
    EXPECT_EQ(first, replay_json(trace, played(trace, options)));
    EXPECT_NE(first.find("\"bytes_file_read\":"), std::string::npos);
    EXPECT_EQ(first.find("\"bytes_h2d\":0,"), std::string::npos) << first;
    EXPECT_EQ(first.find("\"bytes_file_written\":0,"), std::string::npos) << first;
  }
}

TEST(Replayer, NoRunIsFasterThanItsLowerBound) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const Trace trace = trace_of(random_trace(seed, 40, 500));
    ReplayOptions options = two_blocks();
    options.device_memory = 512_MiB;
    options.host_memory = 4_GiB;
    const ReplayResult result = played(trace, options);
    EXPECT_LE(result.lower_bound, result.makespan) << seed;
    EXPECT_LE(result.stats.device_peak, (512_MiB).value()) << seed;
  }
}

TEST(Replayer, OutOfMemoryNamesTheEvent) {
  const Trace large =
      trace_of(alloc_line(1, kLargeBlock) + op_line(1, "w", 1) + alloc_line(2, 7 * kLargeBlock) + op_line(1, "w", 2));
  ReplayOptions options = two_blocks();
  options.host_frames = false;
  const auto result = replay(large, options);
  EXPECT_EQ(result.status().code(), Code::kOutOfMemory);
  EXPECT_EQ(result.status().message().rfind("event 3 of 4: ", 0), 0U) << result.status().to_string();
}

class RecordedReplay : public AllocatorMachine {};

TEST_F(RecordedReplay, BlocksThatHadACallbackHaveItInTheReplay) {
  constexpr std::uint64_t kBlocks = 3, kRounds = 8;
  Options options = small(2 * kLargeBlock + 2_MiB, 8 * kLargeBlock);
  options.trace = ::testing::TempDir() + "/recomputing.jsonl";
  options.policy = "lru";
  start(options);
  const Address input = allocate(2_MiB);
  ASSERT_TRUE(allocator_->pins().pin(input).is_ok());
  const auto work = [&](Address, Bytes, StreamId stream) {
    AnnouncedUse use;  // not an operation of the program: a replay recomputes by itself
    TESSERA_TRY(allocator_->uses().begin({&input, 1}, 0, stream, "input", use));
    allocator_->uses().end(use);
    return Status();
  };
  std::vector<Address> blocks;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(allocate(kLargeBlock));
    ASSERT_TRUE(allocator_->uses().touch(blocks.back(), StreamId(), Access::kWrite).is_ok());
    ASSERT_TRUE(allocator_->hints().set_recompute(blocks.back(), work, Nanoseconds(1)).is_ok());
  }
  for (std::uint64_t i = 0; i < kRounds * kBlocks; ++i) {
    ASSERT_TRUE(allocator_->uses().touch(blocks[i % kBlocks], StreamId(), Access::kRead).is_ok());
  }
  EXPECT_GT(allocator_->stats().snapshot().totals.recomputes, 0U);
  ASSERT_TRUE(allocator_->reports().finish().is_ok());

  const Trace trace = read_trace(options.trace).take();
  EXPECT_EQ(trace.recomputes.size(), kBlocks);
  EXPECT_EQ(trace.ops.size(), kBlocks + kRounds * kBlocks);
  EXPECT_GT(played(trace, two_blocks()).stats.recomputes, 0U);
}

TEST(Replayer, SeveralDevicesEachHaveTheirMemory) {
  const Trace trace = trace_of(R"({"t":"alloc","id":1,"bytes":67108864,"device":0}
{"t":"alloc","id":2,"bytes":67108864,"device":1}
{"t":"op","ns":50,"r":[1]}
{"t":"op","ns":50,"device":1,"r":[2]}
)");
  const ReplayResult result = played(trace, two_blocks());
  EXPECT_EQ(result.makespan, Nanoseconds(50));
  EXPECT_EQ(result.stats.bytes_out, 0U);
}

// 256 blocks of a page used cyclically, on a device for half of them. If an eviction had to wait for all queued work,
// the program would be blocked with nothing queued; frames freed ahead of need avoid that.
TEST(Replayer, UnseenWorkKeepsSpareFrames) {
  constexpr std::uint64_t kBlocks = 256;
  std::string text;
  for (std::uint64_t i = 1; i <= kBlocks; ++i) text += alloc_line(i, kBasePage) + op_line(kOpTime / 10, "w", i);
  for (int round = 0; round < 8; ++round) {
    for (std::uint64_t i = 1; i <= kBlocks; ++i) text += op_line(kOpTime / 10, "w", i);
  }
  ReplayOptions options = two_blocks();
  options.device_memory = kBasePage * kBlocks / 2;
  const double announced = static_cast<double>(played(trace_of(text), options).makespan.value());
  options.unseen_work = true;
  const double unseen = static_cast<double>(played(trace_of(text), options).makespan.value());
  EXPECT_LT(unseen, announced * 1.3);
}

}  // namespace
}  // namespace tessera
