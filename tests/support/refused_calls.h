/* Makes the kernel refuse system calls of this process and its children, as a container's seccomp profile does. Needs
 * no privilege: the process gives up gaining any.
 *
 * Thread safety: stateless; the filter applies to the calling thread and threads that it starts.
 */
#ifndef TESSERA_TESTS_REFUSED_CALLS_H
#define TESSERA_TESTS_REFUSED_CALLS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* `call` fails with `error`; if `bits` is nonzero, only if all of these bits are set in argument number `argument`. */
struct refused_call {
  long call;
  int error;
  unsigned argument, bits;
};

#define MOST_REFUSED_CALLS 16

/* 0, or -1 with errno if this machine has no seccomp filters or there are too many rules. */
static inline int refuse_calls(const struct refused_call* rules, size_t count) {
  const unsigned error_answer = SECCOMP_RET_ERRNO;
  struct sock_filter program[6 * MOST_REFUSED_CALLS + 1];
  unsigned short length = 0;
  struct sock_fprog filter = {0, program};
  if (count > MOST_REFUSED_CALLS) return -1;
  for (size_t i = 0; i < count; ++i) {
    const unsigned argument = (unsigned)(offsetof(struct seccomp_data, args) + 8 * rules[i].argument);
    const struct sock_filter rule[6] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)rules[i].call, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rules[i].bits),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rules[i].bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, error_answer | (unsigned)rules[i].error),
    };
    for (size_t line = 0; line < 6; ++line) program[length++] = rule[line];
  }
  program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  filter.len = length;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

#endif
