// glibc's own dlsym and dlvsym, beneath ours of the same names.
//
// Why so: every way of asking for them by name leads to our own definitions, also with a version,
// since an interposer must carry glibc's version names. So they are read from the symbol table of
// the C library in memory.
//
// Thread safety: any thread, from the first instruction of the process on; takes no lock, and calls
// nothing that another interposer may stand in front of.
#pragma once

namespace tessera::preload {

void* true_dlsym(void* handle, const char* name);
void* true_dlvsym(void* handle, const char* name, const char* version);

}  // namespace tessera::preload

// For the entry points in loader_entry.S: where they go when the answer is not one of our hooks.
extern "C" __attribute__((visibility("hidden"))) void* tessera_preload_true_dlsym();
extern "C" __attribute__((visibility("hidden"))) void* tessera_preload_true_dlvsym();

// These entry points themselves, which the program sees as dlsym and dlvsym.
extern "C" __attribute__((visibility("hidden"))) void tessera_preload_own_dlsym();
extern "C" __attribute__((visibility("hidden"))) void tessera_preload_own_dlvsym();
