/* Runs a program with certain system calls refused, as containers and file systems do:
 *
 *   refuse ERROR WHAT... -- program arguments
 *
 * ERROR is a name such as EPERM. WHAT is io_uring_setup, io_uring_enter, io_uring_register or fallocate; `nameless`,
 * files without a name (O_TMPFILE); or `direct`, access past the page cache (O_DIRECT).
 *
 * Thread safety: one thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../support/refused_calls.h"

static const struct {
  const char* name;
  struct refused_call call;
} kinds[] = {
    {"io_uring_setup", {SYS_io_uring_setup, 0, 0, 0}},
    {"io_uring_enter", {SYS_io_uring_enter, 0, 0, 0}},
    {"io_uring_register", {SYS_io_uring_register, 0, 0, 0}},
    {"fallocate", {SYS_fallocate, 0, 0, 0}},
    {"nameless", {SYS_openat, 0, 2, O_TMPFILE}},
    {"direct", {SYS_fcntl, 0, 2, O_DIRECT}},
};

static const struct {
  const char* name;
  int number;
} errors[] = {{"EPERM", EPERM},   {"EACCES", EACCES}, {"ENOSYS", ENOSYS},        {"ENOMEM", ENOMEM},
              {"EINVAL", EINVAL}, {"EISDIR", EISDIR}, {"EOPNOTSUPP", EOPNOTSUPP}};

static int wrong(const char* what, const char* which) {
  fprintf(stderr, "refuse: %s %s\n", what, which);
  return 126;
}

static int error_number(const char* name) {
  for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); ++i) {
    if (strcmp(errors[i].name, name) == 0) return errors[i].number;
  }
  return 0;
}

static const struct refused_call* call_named(const char* name) {
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i].call;
  }
  return NULL;
}

int main(int count, char** words) {
  struct refused_call rules[MOST_REFUSED_CALLS];
  size_t used = 0;
  int at = 2;
  const int error = count > 1 ? error_number(words[1]) : 0;
  if (error == 0) return wrong("no such error:", count > 1 ? words[1] : "none");
  for (; at < count && strcmp(words[at], "--") != 0; ++at) {
    const struct refused_call* const call = call_named(words[at]);
    if (call == NULL || used == MOST_REFUSED_CALLS) return wrong("cannot refuse", words[at]);
    rules[used] = *call;
    rules[used++].error = error;
  }
  if (at + 1 >= count) return wrong("no program after", "--");
  if (refuse_calls(rules, used) != 0) return wrong("no filter:", strerror(errno));
  execvp(words[at + 1], words + at + 1);
  return wrong(words[at + 1], strerror(errno));
}
