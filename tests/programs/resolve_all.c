/* Looks up driver functions by requests, and prints the location of each.
 *
 * Reads lines "address NAME VERSION" (by cuGetProcAddress, in both versions, with every flag) and "symbol NAME" (by
 * dlsym and dlvsym, in the driver, in all libraries and in the next ones). Prints one line per look-up, "WHAT: RESULT",
 * where the result is the call's return value, then the library and the symbol.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef CUresult (*old_get_address)(const char*, void**, int, cuuint64_t);
typedef CUresult (*new_get_address)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static void* driver;
static old_get_address older;
static new_get_address newer;

static void say_place(const void* function) {
  Dl_info info;
  if (function == NULL) {
    puts(" nothing");
  } else if (dladdr(function, &info) == 0 || info.dli_sname == NULL) {
    puts(" unknown");
  } else {
    const char* const slash = strrchr(info.dli_fname, '/');
    printf(" %s %s\n", slash != NULL ? slash + 1 : info.dli_fname, info.dli_sname);
  }
}

static void by_version(const char* name, int version) {
  for (cuuint64_t flags = 0; flags <= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM; ++flags) {
    void *first = NULL, *second = NULL;
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)-1;
    const CUresult told = older(name, &first, version, flags);
    const CUresult known = newer(name, &second, version, flags, &status);
    printf("first %s %d %d: %d", name, version, (int)flags, (int)told);
    say_place(first);
    printf("second %s %d %d: %d %d", name, version, (int)flags, (int)known, (int)status);
    say_place(second);
  }
}

/* Bound to the driver by the linker, so that the driver is among all libraries and among the next ones. */
static void by_binding(void) {
  printf("binding:");
  say_place((void*)cuDriverGetVersion);
}

static void by_symbol(const char* name) {
  static const char* const versions[] = {"GLIBC_2.2.5", "TESSERA_PRELOAD"};
  printf("dlsym %s:", name);
  say_place(dlsym(driver, name));
  printf("dlsym default %s:", name);
  say_place(dlsym(RTLD_DEFAULT, name));
  printf("dlsym next %s:", name);
  say_place(dlsym(RTLD_NEXT, name));
  for (int i = 0; i < 2; ++i) {
    printf("dlvsym %s %s:", versions[i], name);
    say_place(dlvsym(driver, name, versions[i]));
  }
}

int main(void) {
  char line[256], name[200];
  int version;
  driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) return 1;
  by_binding();
  older = (old_get_address)dlsym(driver, "cuGetProcAddress");
  newer = (new_get_address)dlsym(driver, "cuGetProcAddress_v2");
  while (fgets(line, sizeof(line), stdin) != NULL) {
    if (sscanf(line, "address %199s %d", name, &version) == 2) by_version(name, version);
    if (sscanf(line, "symbol %199s", name) == 1) by_symbol(name);
  }
  return 0;
}
