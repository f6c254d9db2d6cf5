// The threads of one block, each on its own stack, so that they can meet: all of them at a barrier, or lanes of one
// warp.
//
// Each thread runs until it waits or ends, then the next one runs. When all have had their turn, threads whose barrier
// is complete continue. Ended threads are not waited for. If no thread can continue, the block accesses address 0,
// which the device reports; a GPU would hang. Stacks are created once per kernel object and stay parked between blocks:
// creating a context costs system calls, a jump does not.
//
// Jumps use compiler builtins: they cost no call, and a sanitizer does not mistake them for jumps on its own stack.
//
// A stack is 64 KiB without a guard page, because guard pages would exhaust the process's mappings; the build that
// compiles the kernel bounds its frame instead (-Werror=frame-larger-than).
//
// Thread safety: devices run concurrently; each takes the parked crew, or creates one.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

namespace softcuda {

struct Crew;
using Place = void* [5];  // the buffer of __builtin_setjmp

enum class Waits : unsigned char { kForNobody, kForBlock, kForLanes };

struct Fiber {
  Place place;  // where it waits
  dim3 thread;
  bool ended;
  Waits waits;
  unsigned lanes;  // of its warp: lanes to wait for
  unsigned met;    // lanes that arrived
  unsigned long long brought;
  unsigned long long shown;  // the value brought, from the time all arrived until the next meeting
  Crew* crew;
};

struct Crew {
  Place engine;  // where the thread that runs the block waits for its fibers
  void (*body)(const void*);
  const void* argument;
  unsigned size;
  unsigned came, agreed;  // at the last barrier: threads that arrived, and those with a nonzero value
  Fiber* fibers;          // after this struct, in the same mapping; the stacks follow
  size_t mapped;
};

inline constexpr size_t kFiberStack = 64 << 10;

static thread_local Fiber* running;
static Crew* parked;

// The compiler requires a jump and its target to be in different functions, and none of them may keep a local variable
// alive across a jump.
__attribute__((noinline, noreturn)) inline void jump(Place& place) { __builtin_longjmp(place, 1); }
__attribute__((noinline)) inline void resume(Fiber& fiber) {
  running = &fiber;
  threadIdx = fiber.thread;
  if (__builtin_setjmp(fiber.crew->engine) == 0) jump(fiber.place);
}
__attribute__((noinline)) inline void leave(Fiber& fiber) {
  if (__builtin_setjmp(fiber.place) == 0) jump(fiber.crew->engine);
}

inline void live() {
  Fiber& self = *running;
  for (;;) {
    leave(self);
    self.crew->body(self.crew->argument);
    self.ended = true;
  }
}

__attribute__((noinline)) inline void start(Fiber& fiber, char* stack) {
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = kFiberStack;
  context.uc_link = nullptr;
  makecontext(&context, live, 0);
  running = &fiber;
  if (__builtin_setjmp(fiber.crew->engine) == 0) setcontext(&context);
}

inline void dismiss(Crew* crew) {
  if (crew != nullptr) munmap(crew, crew->mapped);
}

// Null if out of memory.
inline Crew* hire(unsigned size) {
  const size_t head = (sizeof(Crew) + size * sizeof(Fiber) + 4095) / 4096 * 4096;
  const size_t mapped = head + size * kFiberStack;
  void* const memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Crew* const crew = static_cast<Crew*>(memory);
  crew->size = size;
  crew->mapped = mapped;
  crew->fibers = reinterpret_cast<Fiber*>(crew + 1);
  for (unsigned i = 0; i < size; ++i) {
    crew->fibers[i].crew = crew;
    start(crew->fibers[i], static_cast<char*>(memory) + head + i * kFiberStack);
  }
  return crew;
}

inline Crew* take(unsigned size) {
  Crew* const crew = __atomic_exchange_n(&parked, nullptr, __ATOMIC_ACQ_REL);
  if (crew != nullptr && crew->size >= size) return crew;
  dismiss(crew);
  return hire(size);
}
inline void park(Crew* crew) { dismiss(__atomic_exchange_n(&parked, crew, __ATOMIC_ACQ_REL)); }
__attribute__((destructor)) static void dismiss_parked() { park(nullptr); }

inline constexpr unsigned kWarp = 32;

inline bool all_wait(const Fiber* warp, unsigned wanted, unsigned living) {
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((wanted >> lane & 1) == 0) continue;
    const Fiber& fiber = warp[lane];
    if (fiber.waits != Waits::kForLanes || (fiber.lanes & living) != wanted) return false;
  }
  return true;
}

// Releases groups of lanes in a warp that have all arrived. False if there are none.
inline bool release_lanes(Fiber* warp, unsigned size) {
  unsigned living = 0;
  for (unsigned lane = 0; lane < size; ++lane) living |= warp[lane].ended ? 0U : 1U << lane;
  bool any = false;
  for (unsigned lane = 0; lane < size; ++lane) {
    const bool waits = !warp[lane].ended && warp[lane].waits == Waits::kForLanes;
    const unsigned wanted = waits ? warp[lane].lanes & living : 0;
    if ((wanted >> lane & 1) == 0 || !all_wait(warp, wanted, living)) continue;
    for (unsigned other = 0; other < size; ++other) {
      if ((wanted >> other & 1) == 0) continue;
      warp[other].waits = Waits::kForNobody;
      warp[other].met = wanted;
      warp[other].shown = warp[other].brought;
    }
    any = true;
  }
  return any;
}

// The same for the whole block.
inline bool release_block(Crew& crew, unsigned count) {
  unsigned came = 0, agreed = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Fiber& fiber = crew.fibers[i];
    if (fiber.ended) continue;
    if (fiber.waits != Waits::kForBlock) return false;
    ++came;
    agreed += fiber.brought != 0 ? 1 : 0;
  }
  crew.came = came;
  crew.agreed = agreed;
  for (unsigned i = 0; i < count; ++i) crew.fibers[i].waits = Waits::kForNobody;
  return true;
}

inline bool release(Crew& crew, unsigned count) {
  bool any = false;
  for (unsigned first = 0; first < count; first += kWarp) {
    any |= release_lanes(crew.fibers + first, count - first < kWarp ? count - first : kWarp);
  }
  return any || release_block(crew, count);
}

// Makes the calling thread wait for its block. Returns the number of arrived threads with a nonzero value.
inline unsigned meet_block(bool brought) {
  Fiber& self = *running;
  self.brought = brought ? 1 : 0;
  self.waits = Waits::kForBlock;
  leave(self);
  return running->crew->agreed;
}

// Makes the calling thread wait for these lanes of its warp, and returns its fiber, through which the values that the
// lanes brought can be read.
inline const Fiber& meet_lanes(unsigned lanes, unsigned long long brought) {
  Fiber& self = *running;
  self.lanes = lanes;
  self.brought = brought;
  self.waits = Waits::kForLanes;
  leave(self);
  return *running;
}

// False if there is no memory for the stacks: then no thread has run.
template <class Body>
bool for_each_thread(const sim_block& block, const Body& body) {
  const unsigned count = block.block[0] * block.block[1] * block.block[2];
  Crew* const crew = take(count);
  if (crew == nullptr) return false;
  crew->body = [](const void* argument) { (*static_cast<const Body*>(argument))(); };
  crew->argument = &body;
  for (unsigned i = 0; i < count; ++i) {
    Fiber& fiber = crew->fibers[i];
    fiber.thread = {i % block.block[0], i / block.block[0] % block.block[1], i / block.block[0] / block.block[1]};
    fiber.ended = false;
    fiber.waits = Waits::kForNobody;
  }
  for (unsigned left = count; left > 0;) {
    left = 0;
    for (unsigned i = 0; i < count; ++i) {
      Fiber& fiber = crew->fibers[i];
      if (!fiber.ended && fiber.waits == Waits::kForNobody) resume(fiber);
      left += fiber.ended ? 0 : 1;
    }
    while (left > 0 && !release(*crew, count)) *static_cast<volatile int*>(nullptr) = 0;
  }
  park(crew);
  return true;
}

}  // namespace softcuda

inline void __syncthreads() { softcuda::meet_block(false); }
inline int __syncthreads_count(int yes) { return static_cast<int>(softcuda::meet_block(yes != 0)); }
inline int __syncthreads_or(int yes) { return softcuda::meet_block(yes != 0) != 0; }
inline int __syncthreads_and(int yes) { return softcuda::meet_block(yes != 0) == softcuda::running->crew->came; }
