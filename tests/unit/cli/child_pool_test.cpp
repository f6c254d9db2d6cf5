#include "child_pool.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <new>
#include <thread>

namespace {

using ::testing::HasSubstr;

// The answers by number.
std::vector<ChildAnswer> answers_of(std::size_t count, int jobs, const ChildLimits& limits,
                                    const std::function<std::string(std::size_t)>& work) {
  std::vector<ChildAnswer> answers(count);
  std::size_t ended = 0;
  run_in_children(count, jobs, limits, work, [&](std::size_t number, const ChildAnswer& answer) {
    answers.at(number) = answer;
    ++ended;
  });
  EXPECT_EQ(ended, count);
  return answers;
}

TEST(ChildPool, AnswersAreOrderedByTaskNumber) {
  const auto answers =
      answers_of(7, 3, {}, [](std::size_t i) { return std::string(1000 * (7 - i), static_cast<char>('a' + i)); });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].text, std::string(1000 * (7 - i), static_cast<char>('a' + i)));
    EXPECT_EQ(answers[i].failure, "");
  }
}

TEST(ChildPool, LongAnswersAreComplete) {
  const auto answers = answers_of(2, 2, {}, [](std::size_t) { return std::string(3 << 20, 'x'); });
  EXPECT_EQ(answers[1].text.size(), std::size_t{3} << 20);
}

TEST(ChildPool, ACrashAffectsOnlyItsTask) {
  const auto answers = answers_of(3, 2, {}, [](std::size_t i) {
    if (i == 1) std::raise(SIGABRT);
    if (i == 2) _exit(9);
    return std::string("well");
  });
  EXPECT_EQ(answers[0].text, "well");
  EXPECT_THAT(answers[1].failure, HasSubstr("crashed"));
  EXPECT_EQ(answers[2].failure, "it exited with code 9");
}

TEST(ChildPool, EndlessWorkIsTerminated) {
  const auto answers = answers_of(1, 1, {.cpu_seconds = 1}, [](std::size_t) {
    for (volatile bool forever = true; forever;) continue;
    return std::string();
  });
  EXPECT_EQ(answers[0].failure, "timed out after 1 s");
}

TEST(ChildPool, WorkWithoutMemoryReportsIt) {
  const auto answers = answers_of(1, 1, {}, [](std::size_t) -> std::string { throw std::bad_alloc(); });
  EXPECT_EQ(answers[0].failure, "it needs more than 4096 MiB");
}

TEST(ChildPool, MemoryIsBounded) {
  const auto answers = answers_of(2, 1, {.memory = 64 << 20}, [](std::size_t i) {
    return std::string(i == 0 ? 1 << 20 : 512 << 20, 'x').substr(0, 3);
  });
  EXPECT_EQ(answers[0].text, "xxx");
  EXPECT_NE(answers[1].failure, "");
}

TEST(ChildPool, AnAnswerHasTheProcessorTimeOfItsChildAndItsThreads) {
  constexpr std::chrono::milliseconds kSpent{300};
  const auto spend = [&](clockid_t clock) {
    for (timespec now{}; std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) < kSpent;) {
      clock_gettime(clock, &now);
    }
  };
  const auto answers = answers_of(3, 1, {}, [&](std::size_t i) {
    if (i == 0) std::thread(spend, CLOCK_THREAD_CPUTIME_ID).join();
    if (i == 1) spend(CLOCK_PROCESS_CPUTIME_ID);
    if (i == 1) std::raise(SIGABRT);
    return std::string("well");
  });
  EXPECT_GE(answers[0].processor_time, kSpent);
  EXPECT_GE(answers[1].processor_time, kSpent) << "what failed was paid for as well";
  EXPECT_LT(answers[2].processor_time, kSpent) << "of that child alone";
}

TEST(ChildPool, NoWorkGivesNoAnswers) {
  EXPECT_TRUE(answers_of(0, 1, {}, [](std::size_t) { return std::string(); }).empty());
}

}  // namespace
