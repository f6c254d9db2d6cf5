// The threads of one block, each on a stack of its own, so that they can meet at a barrier.
//
// Each thread runs until it waits or ends, then the next one does; when all have had their turn, all
// that still run are at the barrier, and the next round begins. Stacks are made once for a kernel
// object and stay parked between blocks: making a context costs system calls, a jump does not.
//
// The jumps are the compiler's: they cost no call, and a sanitizer that watches the program does not take
// them for its own stack's.
//
// A stack is 64 KiB without a guard page, because guards would use up the process's mappings; whoever
// compiles the kernel bounds its frame instead (-Werror=frame-larger-than).
//
// Thread safety: devices run at the same time; each takes the parked crew, or makes one.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

namespace softcuda {

struct Crew;
using Place = void*[5];  // as __builtin_setjmp wants it

struct Fiber {
  Place place;  // where it waits
  dim3 thread;
  bool ended;
  Crew* crew;
};

struct Crew {
  Place engine;  // where whoever runs the block waits for its fibers
  void (*body)(const void*);
  const void* argument;
  unsigned size;
  Fiber* fibers;  // behind this, in the same mapping; the stacks follow
  size_t mapped;
};

inline constexpr size_t kFiberStack = 64 << 10;

static thread_local Fiber* running;
static Crew* parked;

// The compiler wants a jump and the place it may come back to in different functions, and none of them
// keeps a variable of its own alive across a jump.
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

inline Crew* hire(unsigned size) {
  const size_t head = (sizeof(Crew) + size * sizeof(Fiber) + 4095) / 4096 * 4096;
  const size_t mapped = head + size * kFiberStack;
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) __builtin_trap();  // the device reports a kernel that failed
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

template <class Body>
void for_each_thread(const sim_block& block, const Body& body) {
  const unsigned count = block.block[0] * block.block[1] * block.block[2];
  Crew* const crew = take(count);
  crew->body = [](const void* argument) { (*static_cast<const Body*>(argument))(); };
  crew->argument = &body;
  for (unsigned i = 0; i < count; ++i) {
    Fiber& fiber = crew->fibers[i];
    fiber.thread = {i % block.block[0], i / block.block[0] % block.block[1],
                    i / block.block[0] / block.block[1]};
    fiber.ended = false;
  }
  for (unsigned left = count; left > 0;) {
    left = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (crew->fibers[i].ended) continue;
      resume(crew->fibers[i]);
      left += crew->fibers[i].ended ? 0 : 1;
    }
  }
  park(crew);
}

}  // namespace softcuda

inline void __syncthreads() { softcuda::leave(*softcuda::running); }
