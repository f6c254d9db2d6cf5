#include "observe/trace_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "hand_clock.hpp"
#include "lab/replay/trace_reader.hpp"

namespace tessera {
namespace {

class TraceWriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<TraceWriter> open(Bytes limit = TraceWriter::kDefaultLimit) {
    auto writer = TraceWriter::open(path_, {"a \"program\"", 2_GiB}, clock_, limit);
    EXPECT_TRUE(writer.is_ok());
    return writer.take();
  }

  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line) && !line.empty();) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  HandClock clock_{1000};
  const std::string path_ =
      ::testing::TempDir() + "trace_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
};

TEST_F(TraceWriterTest, EveryKindOfLineHasTheKeysOfTheFormat) {
  {
    const auto writer = open();
    clock_.set(1500);
    writer->alloc(1, 1_MiB, StreamId(7), "weight", DeviceId(1));
    writer->alloc(2, 2_MiB, StreamId(0), "", DeviceId(0));
    using Operand = TraceWriter::Operand;
    const std::array<Operand, 2> reads = {Operand{.id = 1}, Operand{.id = 2}};
    const std::array<Operand, 1> writes = {Operand{.id = 2}};
    writer->op("gemm", StreamId(7), DeviceId(1), reads, writes);
    writer->mark("iteration", 3);
    writer->free(1);
    writer->remakable(2, Nanoseconds(40));
    writer->took({"gemm", 2, 3_MiB, DeviceId(1)}, Nanoseconds(60));
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all[0], nlohmann::json::parse(
                        R"({"t":"header","version":1,"name":"a \"program\"","source":"recorded",
                            "device_memory":2147483648})"));
  EXPECT_EQ(all[1], nlohmann::json::parse(R"({"t":"alloc","at":500,"id":1,"bytes":1048576,
                                              "stream":7,"device":1,"tag":"weight"})"));
  EXPECT_FALSE(all[2].contains("tag"));
  EXPECT_EQ(all[3], nlohmann::json::parse(R"({"t":"op","at":500,"name":"gemm","stream":7,
                                              "device":1,"r":[1,2],"w":[2]})"));
  EXPECT_EQ(all[4], nlohmann::json::parse(R"({"t":"mark","at":500,"kind":"iteration","n":3})"));
  EXPECT_EQ(all[5], nlohmann::json::parse(R"({"t":"free","at":500,"id":1})"));
  EXPECT_EQ(all[6], nlohmann::json::parse(R"({"t":"recompute","at":500,"id":2,"recompute_ns":40})"));
  EXPECT_EQ(all[7], nlohmann::json::parse(R"({"t":"time","at":500,"name":"gemm","device":1,
                                              "blocks":2,"bytes":3145728,"ns":60})"));
}

TEST_F(TraceWriterTest, NamesOfAnyBytesStayValidJson) {
  {
    const auto writer = open();
    writer->op(std::string("a\"\\\n\xff\x01z", 7), StreamId(0), DeviceId(0), {}, {});
  }
  EXPECT_EQ(lines().size(), 2u);
}

TEST_F(TraceWriterTest, ALineIsInTheFileWhenItsCallReturns) {
  const auto writer = open();
  writer->alloc(1, 1_MiB, StreamId(0), "", DeviceId(0));
  EXPECT_EQ(lines().size(), 2u);
  writer->free(1);
  EXPECT_EQ(lines().size(), 3u);
}

TEST_F(TraceWriterTest, AfterAFlushTheFileIsCompleteAndContinues) {
  const auto writer = open();
  writer->free(1);
  ASSERT_TRUE(writer->flush().is_ok());
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}).find('\0'), std::string::npos);
  writer->free(2);
  EXPECT_EQ(lines().size(), 3u);
}

// At worst it was killed in the middle of a line.
TEST_F(TraceWriterTest, TheTraceOfAKilledProcessIsReadUpToItsLastLine) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto writer = open();
    for (std::uint64_t id = 1; id <= 5000; ++id) writer->alloc(id, 2_MiB, StreamId(0), "weight", DeviceId(0));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto trace = read_trace(path_);
  ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
  EXPECT_EQ(trace.value().events.size(), 5000u);

  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
  const auto cut = read_trace(path_);
  ASSERT_TRUE(cut.is_ok()) << cut.status().to_string();
  EXPECT_EQ(cut.value().events.size(), 4999u);
}

TEST_F(TraceWriterTest, APipeIsFlushedAtMarksAndAfterAWhile) {
  ::remove(path_.c_str());
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int end = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  const auto lines_there = [end] {
    std::array<char, 4096> text{};
    const ssize_t bytes = ::read(end, text.data(), text.size());
    return std::count(text.begin(), text.begin() + std::max<ssize_t>(bytes, 0), '\n');
  };
  {
    const auto writer = open();
    EXPECT_EQ(lines_there(), 1) << "the header";
    writer->alloc(1, 1_MiB, StreamId(0), "", DeviceId(0));
    EXPECT_EQ(lines_there(), 0);
    writer->mark("iteration", 1);
    EXPECT_EQ(lines_there(), 2);
    writer->alloc(2, 1_MiB, StreamId(0), "", DeviceId(0));
    clock_.set(200'000'000);
    writer->free(1);
    EXPECT_EQ(lines_there(), 2);
    writer->free(2);
  }
  EXPECT_EQ(lines_there(), 1) << "the rest, when it is closed";
  ::close(end);
  ::remove(path_.c_str());
}

TEST_F(TraceWriterTest, TheFileIsTheOwnersAlone) {
  ::remove(path_.c_str());
  open();
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(TraceWriterTest, EndsAtItsLimitWithWholeLines) {
  ::testing::internal::CaptureStderr();
  {
    const auto writer = open(4_KiB);
    for (std::uint64_t i = 0; i < 1000; ++i) writer->free(i);
    EXPECT_EQ(writer->flush().code(), Code::kIo);
  }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("limit"), std::string::npos);
  EXPECT_GT(lines().size(), 50u);
  EXPECT_LT(lines().size(), 1000u);
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_LE(info.st_size, 4096);
}

TEST_F(TraceWriterTest, AnUnwritablePathIsAnError) {
  const auto writer = TraceWriter::open("/no/such/folder/t", {"p", 1_GiB}, clock_);
  EXPECT_EQ(writer.status().code(), Code::kIo);
}

TEST_F(TraceWriterTest, AFullDiskEndsTheTraceAtOnce) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(TraceWriter::open("/dev/full", {"p", 1_GiB}, clock_).status().code(), Code::kIo);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("/dev/full"), std::string::npos);
}

TEST_F(TraceWriterTest, LinesOfSeveralThreadsNeverMix) {
  {
    const auto writer = open();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (std::uint64_t i = 0; i < 500; ++i) writer->mark("tick", i);
      });
    }
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(lines().size(), 2001u);
}

}  // namespace
}  // namespace tessera
