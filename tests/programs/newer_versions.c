/* Looks up functions by version, twice each, and prints the library of each result.
 *
 * Usage: newer_versions VERSION. One line for each: "name: library", with "none" if nothing was found.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult (*get_address)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

int main(int argc, char** argv) {
  static const char* const names[] = {"cuMemAlloc", "cuMemFree", "cuMemAlloc", "cuMemFree"};
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const int version = argc == 2 ? atoi(argv[1]) : 0;
  const get_address get = (get_address)dlsym(driver, "cuGetProcAddress_v2");
  for (int i = 0; i < 4; ++i) {
    void* found = NULL;
    Dl_info info;
    const char* file = "none";
    if (get(names[i], &found, version, 0, NULL) == CUDA_SUCCESS && dladdr(found, &info) != 0) {
      const char* const slash = strrchr(info.dli_fname, '/');
      file = slash != NULL ? slash + 1 : info.dli_fname;
    }
    printf("%s: %s\n", names[i], file);
  }
  return 0;
}
