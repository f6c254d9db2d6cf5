// The stand-in's kernel: does all work that it finds in a queue in host memory.
//
// Collectives run in order, followed by sends and receives, which wait for each other and so are done together. Ranks
// meet in host memory, and exchange numbers through slots there.
//
// Thread safety: one thread runs it. Each slot is written by one rank.
#include "softcuda_kernel.hpp"

#include <sched.h>
#include <time.h>

#include "stand_in_work.h"

namespace {

using Numbers = int32_t*;

Numbers numbers_at(uint64_t address) { return reinterpret_cast<Numbers>(address); }

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Returns false if the other ranks are gone.
template <class Ready>
bool await(meeting& at, const work& of, Ready ready) {
  const double limit = now() + of.patience;
  while (!ready()) {
    if (__atomic_load_n(&at.lost, __ATOMIC_ACQUIRE) != 0) return false;
    if (now() > limit) __atomic_store_n(&at.lost, 1, __ATOMIC_RELEASE);
    sched_yield();
  }
  return true;
}

bool pass_barrier(meeting& at, const work& of) {
  const uint32_t before = __atomic_load_n(&at.barrier, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&at.arrived, 1, __ATOMIC_ACQ_REL) == static_cast<uint32_t>(of.ranks)) {
    __atomic_store_n(&at.arrived, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&at.barrier, before + 1, __ATOMIC_RELEASE);
    return true;
  }
  return await(at, of, [&] { return __atomic_load_n(&at.barrier, __ATOMIC_ACQUIRE) != before; });
}

bool sends(const work& of) { return of.kind != WORK_BROADCAST || of.rank == of.peer; }
bool receives(const work& of) { return of.kind != WORK_REDUCE || of.peer < 0 || of.rank == of.peer; }

// Goes through NCCL's own memory, so that its location matters.
void publish(meeting& at, const work& of, uint64_t first, uint64_t some) {
  const int factor = of.scalar != 0 ? *numbers_at(of.scalar) : 1;
  const Numbers staging = numbers_at(of.staging);
  for (uint64_t i = 0; i < some; ++i) staging[i] = numbers_at(of.send)[first + i] * factor;
  for (uint64_t i = 0; i < some; ++i) at.slot[of.rank][i] = staging[i];
}

void take(const meeting& at, const work& of, uint64_t first, uint64_t some) {
  const Numbers to = numbers_at(of.receive) + first;
  for (int rank = 0; rank < of.ranks; ++rank) {
    const int32_t* const from = at.slot[rank];
    const uint64_t place = of.kind == WORK_GATHER ? of.count * static_cast<uint64_t>(rank) : 0;
    if (of.kind == WORK_BROADCAST && rank != of.peer) continue;
    const bool adds = of.kind == WORK_REDUCE && rank != 0;
    for (uint64_t i = 0; i < some; ++i) to[place + i] = (adds ? to[place + i] : 0) + from[i];
  }
}

void meet(meeting& at, const work& of) {
  for (uint64_t first = 0; first < of.count; first += STAND_IN_CHUNK) {
    const uint64_t left = of.count - first;
    const uint64_t some = left < STAND_IN_CHUNK ? left : STAND_IN_CHUNK;
    if (sends(of)) publish(at, of, first, some);
    if (!pass_barrier(at, of)) return;
    if (receives(of)) take(at, of, first, some);
    if (!pass_barrier(at, of)) return;
  }
}

// One chunk, if the other side is ready for it.
bool step(meeting& at, work& of) {
  const bool sending = of.kind == WORK_SEND;
  const int from = sending ? of.rank : of.peer, to = sending ? of.peer : of.rank;
  uint32_t& put = at.put[from][to];
  uint32_t& got = at.got[from][to];
  const bool full = __atomic_load_n(&put, __ATOMIC_ACQUIRE) != __atomic_load_n(&got, __ATOMIC_ACQUIRE);
  if (full == sending) return false;
  const uint64_t left = of.count - of.done;
  const uint64_t some = left < STAND_IN_CHUNK ? left : STAND_IN_CHUNK;
  int32_t* const mail = at.mail[from][to];
  for (uint64_t i = 0; i < some; ++i) {
    if (sending)
      mail[i] = numbers_at(of.send)[of.done + i];
    else
      numbers_at(of.receive)[of.done + i] = mail[i];
  }
  of.done += some;
  __atomic_add_fetch(sending ? &put : &got, 1, __ATOMIC_RELEASE);
  return true;
}

bool is_mail(const work& of) { return of.kind == WORK_SEND || of.kind == WORK_RECEIVE; }

}  // namespace

extern "C" __global__ void do_work(struct work* queue, unsigned first, unsigned count, unsigned size) {
  unsigned open = 0;
  for (unsigned i = 0; i < count; ++i) {
    work& each = queue[(first + i) % size];
    each.done = 0;  // a graph runs it again
    if (is_mail(each))
      open += each.count != 0;
    else
      meet(*reinterpret_cast<meeting*>(each.meeting), each);
  }
  while (open != 0) {
    bool moved = false;
    for (unsigned i = 0; i < count; ++i) {
      work& each = queue[(first + i) % size];
      meeting& at = *reinterpret_cast<meeting*>(each.meeting);
      if (!is_mail(each) || each.done == each.count) continue;
      if (__atomic_load_n(&at.lost, __ATOMIC_ACQUIRE) != 0) return;
      if (step(at, each)) moved = true;
      open -= each.done == each.count;
    }
    if (!moved) sched_yield();
  }
}
TESSERA_KERNEL(do_work)
