/* Runs nccl_devices in a library loaded with local scope, as Python loads extensions: NCCL is in the scope of that
 * library, and in no other.
 *
 * Usage: as nccl_devices.
 */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*main_function)(int count, char** arguments);

int main(int count, char** arguments) {
  void* const library = dlopen("./nccl/nccl_devices_library.so", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  return ((main_function)dlsym(library, "run_devices"))(count, arguments);
}
