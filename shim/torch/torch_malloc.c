#include <dlfcn.h>
#include <stdio.h>

#include "program_error.h"

/* std::__throw_runtime_error(const char*), in every libstdc++. */
#define THROW_RUNTIME_ERROR "_ZSt21__throw_runtime_errorPKc"

typedef void (*raise_function)(const char* what);

/* Throws if the process has a libstdc++, as every process with PyTorch does. */
static void raise_in_program(const char* what) {
  void* const runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* const found = runtime != NULL ? dlsym(runtime, THROW_RUNTIME_ERROR) : NULL;
  raise_function raise = NULL;
  *(void**)&raise = found;
  if (raise != NULL) raise(what);
  fprintf(stderr, "tessera: malloc: %s\n", what);
}

void* tessera_torch_malloc(ssize_t size, int device, tessera_torch_stream stream) {
  const char* failure = NULL;
  void* const block = tessera_torch_take(size, device, stream, &failure);
  if (failure != NULL) raise_in_program(failure);
  return block;
}
