/* Looks up driver functions in every possible way and prints the library of each result.
 *
 * One line per look-up: "way name: library", with "none" if nothing was found.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef CUresult (*old_get_address)(const char*, void**, int, cuuint64_t);
typedef CUresult (*new_get_address)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

static void say(const char* way, const char* name, void* function) {
  Dl_info info;
  const char* file = "none";
  if (function != NULL && dladdr(function, &info) != 0) {
    const char* const slash = strrchr(info.dli_fname, '/');
    file = slash != NULL ? slash + 1 : info.dli_fname;
  }
  printf("%s %s: %s\n", way, name, file);
}

static void by_version(new_get_address get, const char* name, int version, cuuint64_t flags) {
  void* found = NULL;
  char way[64];
  const CUresult result = get(name, &found, version, flags, NULL);
  snprintf(way, sizeof(way), "version %d flags %d", version, (int)flags);
  say(way, name, result == CUDA_SUCCESS ? found : NULL);
}

/* The same base name for different functions: with five parameters before CUDA 12, with three since. */
static void renamed(new_get_address get) {
  void *before = NULL, *since = NULL, *itself = NULL;
  if (get("cuGraphInstantiate", &before, 11000, 0, NULL) != CUDA_SUCCESS ||
      get("cuGraphInstantiate", &since, 12000, 0, NULL) != CUDA_SUCCESS ||
      get("cuGraphInstantiateWithFlags", &itself, 12000, 0, NULL) != CUDA_SUCCESS) {
    return;
  }
  printf("renamed cuGraphInstantiate: %s\n", since == itself && since != before ? "yes" : "no");
  say("renamed in", "libcuda", since);
}

int main(void) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const old_get_address older = (old_get_address)dlsym(driver, "cuGetProcAddress");
  const new_get_address newer = (new_get_address)dlsym(driver, "cuGetProcAddress_v2");
  static const char* const names[] = {"cuMemAlloc_v2",        "cuMemAlloc",      "cuLaunchKernel_ptsz",
                                      "cuMemcpyHtoD_v2_ptds", "cuDeviceGetName", "cuNoSuchName"};
  void* found = NULL;
  say("binding", "cuMemAlloc_v2", (void*)cuMemAlloc);
  say("binding", "cuDeviceGetName", (void*)cuDeviceGetName);
  for (int i = 0; i < 6; ++i) say("dlsym", names[i], dlsym(driver, names[i]));
  printf("dlsym leaves a reason: %s\n", dlerror() != NULL ? "yes" : "no");
  say("dlvsym", "dlsym GLIBC_2.2.5", dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.2.5"));
  say("dlvsym", "dlsym GLIBC_2.34", dlvsym(RTLD_DEFAULT, "dlsym", "GLIBC_2.34"));
  say("next", "malloc", dlsym(RTLD_NEXT, "malloc"));
  say("next", "cuMemAlloc_v2", dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
  say("default", "cuMemAlloc_v2", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
  say("default", "cuDeviceGetName", dlsym(RTLD_DEFAULT, "cuDeviceGetName"));
  by_version(newer, "cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_DEFAULT);
  by_version(newer, "cuMemAlloc", 2000, CU_GET_PROC_ADDRESS_DEFAULT);
  by_version(newer, "cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
  by_version(newer, "cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
  by_version(newer, "cuGetProcAddress", 12000, CU_GET_PROC_ADDRESS_DEFAULT);
  by_version(newer, "cuGetProcAddress", 11030, CU_GET_PROC_ADDRESS_DEFAULT);
  by_version(newer, "cuDeviceGetName", 13000, CU_GET_PROC_ADDRESS_DEFAULT);
  by_version(newer, "cuMemAllocAsync", 11010, CU_GET_PROC_ADDRESS_DEFAULT);
  by_version(newer, "cuNoSuchName", 13000, CU_GET_PROC_ADDRESS_DEFAULT);
  renamed(newer);
  if (older("cuMemFree", &found, 12000, 0) != CUDA_SUCCESS) found = NULL;
  say("first version", "cuMemFree", found);
  return 0;
}
