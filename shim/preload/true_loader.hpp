// glibc's own dlsym and dlvsym, beneath our definitions of the same names.
//
// Why: every look-up of them by name finds our own definitions, also with a version, since an interposer must carry
// glibc's version names. So they are read from the C library's symbol table in memory.
//
// Thread safety: any thread, from the first instruction of the process on. Takes no lock, and calls nothing that
// another interposer may have replaced.
#pragma once

namespace tessera::preload {

void* true_dlsym(void* handle, const char* name);
void* true_dlvsym(void* handle, const char* name, const char* version);

}  // namespace tessera::preload

// For the entry points in loader_entry.S: the functions to jump to when the result is not one of our hooks.
extern "C" __attribute__((visibility("hidden"))) void* tessera_preload_true_dlsym();
extern "C" __attribute__((visibility("hidden"))) void* tessera_preload_true_dlvsym();

// The entry points themselves, which the program sees as dlsym and dlvsym.
extern "C" __attribute__((visibility("hidden"))) void tessera_preload_own_dlsym();
extern "C" __attribute__((visibility("hidden"))) void tessera_preload_own_dlvsym();
