// A private control group for a test, of version 1 or 2, that bounds the number of tasks in it, as a container's pid
// limit does.
//
// Thread safety: a value owned by one thread.
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace tessera {

class TaskLimit {
 public:
  explicit TaskLimit(int tasks) {
    static int made = 0;
    const std::string name = "/tessera-test-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
    for (const std::string parent : {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
      std::error_code error;
      group_ = parent + name;
      if (!std::filesystem::is_directory(parent, error) || !std::filesystem::create_directory(group_, error)) continue;
      if (set(tasks)) return;
      ::rmdir(group_.c_str());
    }
    group_.clear();
  }
  // REQUIRES: its processes end soon.
  ~TaskLimit() {
    for (int tries = 0; usable() && ::rmdir(group_.c_str()) != 0 && tries < 100; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  TaskLimit(const TaskLimit&) = delete;
  TaskLimit& operator=(const TaskLimit&) = delete;

  // False if this machine does not allow the test to create such a group.
  bool usable() const { return !group_.empty(); }
  // Moves this process into the group.
  bool enter() const { return write("cgroup.procs", static_cast<int>(::getpid())); }
  // From now on no further task can be created in it.
  bool close() const {
    int now = 0;
    return std::ifstream(group_ + "/pids.current") >> now && set(now);
  }
  // A command prefix that moves a shell into the group and then executes the program.
  std::string wrapper() const { return "sh -c 'echo $$ > " + group_ + "/cgroup.procs && exec \"$@\"' sh "; }

 private:
  bool write(const char* file, int number) const {
    return static_cast<bool>(std::ofstream(group_ + "/" + file) << number << std::flush);
  }
  bool set(int tasks) const {
    int limit = 0;
    return write("pids.max", tasks) && std::ifstream(group_ + "/pids.max") >> limit && limit == tasks;
  }

  std::string group_;
};

}  // namespace tessera
