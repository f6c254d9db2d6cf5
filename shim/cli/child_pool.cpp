#include "child_pool.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>

#include <fmt/core.h>

namespace {

constexpr unsigned kClockFactor = 20;
constexpr int kNoMemory = 3;

struct Child {
  pid_t process = -1;
  int output = -1;
  std::size_t number = 0;
  std::string text;  // what it has written so far
};

void limit(int what, rlim_t amount) {
  const rlimit both{amount, amount};
  // The work still runs without the limit.
  [[maybe_unused]] const int refused = setrlimit(static_cast<__rlimit_resource_t>(what), &both);
}

// Bytes that already count against the limit: a sanitizer reserves terabytes.
std::uint64_t data_now() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t whole = 0, resident = 0, shared = 0, text = 0, unused = 0, data = 0;
  file >> whole >> resident >> shared >> text >> unused >> data;
  return data * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// Exits without running the parent's cleanup: buffered output shared by both is written by the parent.
[[noreturn]] void be_child(const std::function<std::string(std::size_t)>& work, std::size_t number, int output,
                           const ChildLimits& limits) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  limit(RLIMIT_DATA, data_now() + limits.memory);
  alarm(limits.cpu_seconds * kClockFactor);
  std::string text;
  try {
    text = work(number);
  } catch (const std::bad_alloc&) {
    _exit(kNoMemory);
  }
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(output, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) _exit(1);
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  _exit(0);
}

std::string end_of(int status, const ChildLimits& limits) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    // Exceeding the hard limit on processor time ends in SIGKILL; so does an out-of-memory kill.
    if (signal == SIGXCPU || signal == SIGKILL || signal == SIGALRM) {
      return fmt::format("timed out after {} s", limits.cpu_seconds);
    }
    return fmt::format("it crashed: {}", strsignal(signal));
  }
  if (WEXITSTATUS(status) == kNoMemory) {
    return fmt::format("it needs more than {} MiB", limits.memory >> 20);
  }
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("it exited with code {}", WEXITSTATUS(status));
}

std::chrono::microseconds time_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

class Pool {
 public:
  using Ended = std::function<void(std::size_t, const ChildAnswer&)>;

  Pool(const ChildLimits& limits, const std::function<std::string(std::size_t)>& work, const Ended& ended)
      : limits_(limits), work_(work), ended_(ended) {}

  std::size_t running() const { return children_.size(); }

  // Ends the piece at once, with the reason, if no child can be started.
  void begin(std::size_t number) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return ended_(number, {"", fmt::format("no pipe: {}", std::strerror(errno))});
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process == 0) {
      close(ends[0]);
      be_child(work_, number, ends[1], limits_);
    }
    close(ends[1]);
    if (process < 0) {
      const int why = errno;
      close(ends[0]);
      return ended_(number, {"", fmt::format("no process: {}", std::strerror(why))});
    }
    children_.push_back({process, ends[0], number, {}});
  }
  // Reads available output, blocking until there is some.
  void await() {
    std::vector<pollfd> ready;
    for (const Child& child : children_) ready.push_back({child.output, POLLIN, 0});
    if (poll(ready.data(), ready.size(), -1) < 0) return;
    for (std::size_t i = children_.size(); i-- > 0;) {
      if (ready[i].revents == 0 || read_more(children_[i])) continue;
      const Child over = std::move(children_[i]);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      finish(over);
    }
  }

 private:
  // False at the end of the child's output.
  static bool read_more(Child& child) {
    char buffer[4096];
    const ssize_t got = read(child.output, buffer, sizeof(buffer));
    if (got > 0) child.text.append(buffer, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }
  void finish(const Child& child) {
    close(child.output);
    int status = 0;
    rusage used{};
    while (wait4(child.process, &status, 0, &used) < 0 && errno == EINTR) continue;
    const std::string failure = end_of(status, limits_);
    ended_(child.number, {failure.empty() ? child.text : "", failure, time_of(used.ru_utime) + time_of(used.ru_stime)});
  }

  const ChildLimits limits_;
  const std::function<std::string(std::size_t)>& work_;
  const Ended& ended_;
  std::vector<Child> children_;
};

}  // namespace

void run_in_children(std::size_t count, int jobs, const ChildLimits& limits,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildAnswer&)>& ended) {
  Pool pool(limits, work, ended);
  for (std::size_t next = 0; next < count || pool.running() > 0;) {
    while (next < count && pool.running() < static_cast<std::size_t>(jobs)) pool.begin(next++);
    if (pool.running() > 0) pool.await();
  }
}
