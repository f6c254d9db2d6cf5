/* A thin loader of the driver: it exports all of the driver's functions, and each jumps to the function of the same
 * name in the next library, which its constructor opens. libcuda.so.1 is built this way on WSL2, and in layers that
 * partition a GPU.
 *
 * Environment: THIN_CHAIN is a colon-separated list of paths, from the outermost loader to the driver; a loader opens
 * the path after its own. THIN_HELPER: a library that looks up functions for it (thin_helper.c).
 *
 * Thread safety: any thread.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void* thin_table[] __attribute__((visibility("hidden")));
extern const char thin_names[] __attribute__((visibility("hidden"))); /* one behind the other, then an empty one */

typedef void* (*look_up)(void* library, const char* name);

static void* own_look_up(void* library, const char* name) {
  void* volatile found = dlsym(library, name); /* and no jump out of here: the caller shall be this library */
  return found;
}

static void* next_library(void) {
  Dl_info own;
  char next[1024] = "";
  const char* const chain = getenv("THIN_CHAIN");
  if (chain == NULL || dladdr(thin_table, &own) == 0) return NULL;
  const char* at = strstr(chain, own.dli_fname);
  if (at == NULL || (at = strchr(at, ':')) == NULL) return NULL;
  snprintf(next, sizeof(next), "%.*s", (int)strcspn(at + 1, ":"), at + 1);
  return dlopen(next, RTLD_NOW | RTLD_LOCAL);
}

__attribute__((constructor)) static void fill_table(void) {
  void* const next = next_library();
  const char* const helper = getenv("THIN_HELPER");
  look_up find = own_look_up;
  if (helper != NULL) find = (look_up)dlsym(dlopen(helper, RTLD_NOW | RTLD_LOCAL), "thin_helper_look_up");
  if (next == NULL || find == NULL) {
    fprintf(stderr, "thin loader: %s\n", dlerror());
    _Exit(3);
  }
  int index = 0;
  for (const char* name = thin_names; *name != '\0'; name += strlen(name) + 1) thin_table[index++] = find(next, name);
}
