#include "endings.hpp"

#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "lifecycle.hpp"

namespace tessera::preload {
namespace {

// Signals by which a user, a shell or a scheduler ends a program; their default action is termination.
constexpr int kEndingSignals[] = {SIGTERM, SIGINT, SIGHUP};
// Time limit for the writing. Schedulers allow more between SIGTERM and SIGKILL.
constexpr int kWritingMs = 5000, kWritingStepMs = 2;

// State of one process: a child of fork has another process id, and none of its threads.
constinit std::atomic<pid_t> ending_owner{0};   // 0: exits write nothing
constinit std::atomic<pid_t> ending_thread{0};  // the process that runs the thread
constinit std::atomic<int> ending_signal{0};
constinit std::atomic<bool> ending_asked{false};
constinit std::atomic<bool> ending_written{false};
constinit std::atomic<void (*)()> ending_writer{nullptr};
sem_t ending_call;

// Also called from signal handlers.
void wait_until_written() {
  for (int waited = 0; waited < kWritingMs && !ending_written.load(); waited += kWritingStepMs) {
    const timespec step{0, kWritingStepMs * 1'000'000L};
    (void)::nanosleep(&step, nullptr);
  }
}

void end_by_signal(int number) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  (void)::sigaction(number, &plain, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  (void)::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  (void)::kill(::getpid(), number);
}

void ask_for_writing() {
  if (!ending_asked.exchange(true)) (void)::sem_post(&ending_call);
}

void handle_ending_signal(int number) {
  const int error = errno;
  if (ending_owner.load() != ::getpid()) return end_by_signal(number);
  int none = 0;
  (void)ending_signal.compare_exchange_strong(none, number);
  ask_for_writing();
  // Outside our calls the thread holds no lock that the writer needs, and the program's own work has ended.
  if (!Entry::is_inside()) {
    wait_until_written();
    end_by_signal(number);
  }
  errno = error;
}

void* write_at_ending(void*) {
  const Entry entry;
  if (void (*const write)() = ending_writer.load(); write != nullptr && ending_owner.load() != 0) write();
  ending_written.store(true);
  return nullptr;
}

// Blocks all signals in the thread: they are for the program's own threads.
bool start_ending_thread(void* (*body)(void*)) {
  sigset_t all, before;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int refused = ::pthread_create(&thread, nullptr, body, nullptr);
  if (refused == 0) (void)::pthread_detach(thread);
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = refused;
  return refused == 0;
}

void* await_ending_calls(void*) {
  while (::sem_wait(&ending_call) != 0 && errno == EINTR) continue;
  if (start_ending_thread(write_at_ending)) wait_until_written();
  if (const int number = ending_signal.load(); number != 0) end_by_signal(number);
  return nullptr;
}

bool handled_as(int number, void (*handler)(int)) {
  struct sigaction there {};
  return ::sigaction(number, nullptr, &there) == 0 && (there.sa_flags & SA_SIGINFO) == 0 && there.sa_handler == handler;
}

void exchange_handlers(void (*from)(int), void (*to)(int)) {
  for (const int number : kEndingSignals) {
    if (!handled_as(number, from)) continue;  // the program's own handler, or ignored
    struct sigaction next {};
    next.sa_handler = to;
    next.sa_flags = SA_RESTART;
    (void)::sigaction(number, &next, nullptr);
  }
}

}  // namespace

bool await_endings(void (*write)()) {
  const pid_t self = ::getpid();
  if (ending_thread.load() != self) {
    ending_asked.store(false);
    ending_written.store(false);
    ending_signal.store(0);
    if (::sem_init(&ending_call, 0, 0) != 0 || !start_ending_thread(await_ending_calls)) return false;
    ending_thread.store(self);
  }
  ending_writer.store(write);
  ending_owner.store(self);
  exchange_handlers(SIG_DFL, handle_ending_signal);
  return true;
}

void forget_endings() {
  if (ending_owner.load() != ::getpid()) return;
  exchange_handlers(handle_ending_signal, SIG_DFL);
  ending_owner.store(0);
}

namespace {

void write_before_exit() {
  if (ending_owner.load() != ::getpid()) return;
  ask_for_writing();
  wait_until_written();
}

}  // namespace
}  // namespace tessera::preload

// Replaces the C library's functions, which do the same as the loop.
extern "C" {
__attribute__((visibility("default"), noreturn)) void _exit(int status) {
  tessera::preload::write_before_exit();
  while (true) ::syscall(SYS_exit_group, status);
}
__attribute__((visibility("default"), noreturn)) void _Exit(int status) noexcept { _exit(status); }
}
