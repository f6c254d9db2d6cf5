/* What the unwinder needs that is linked into our own files (tessera_own_runtime in
 * cmake/target_rules.cmake).
 *
 * The unwind table of an address: since gcc 12 it asks _dl_find_object, which glibc has from 2.35
 * on, so what is linked on Debian 12 would not load on RHEL 9. This one asks dl_iterate_phdr, as
 * unwinders did before. It is slower, and exceptions are rare here.
 *
 * Its table of register sizes: it is made at the first exception. An exception of the program's own
 * runtime may pass our frames before that (PyTorch's through libtessera_torch.so, the end of a
 * thread that is cancelled), and without the table this copy would abort.
 *
 * Thread safety: any thread; the loader's list is locked by dl_iterate_phdr.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

static _Unwind_Reason_Code stop_at_once(struct _Unwind_Context* context, void* data) {
  (void)context;
  (void)data;
  return _URC_END_OF_STACK;
}

__attribute__((constructor)) static void make_register_table(void) { _Unwind_Backtrace(stop_at_once, NULL); }

#if __GLIBC_PREREQ(2, 35)

struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int holds(struct dl_phdr_info* object, size_t size, void* data) {
  struct search* const search = data;
  const ElfW(Phdr)* table = NULL;
  const ElfW(Phdr)* segment = NULL;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const header = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME) table = header;
    if (header->p_type == PT_LOAD && search->address - start < header->p_memsz) segment = header;
  }
  if (segment == NULL || table == NULL) return 0;
  const uintptr_t start = object->dlpi_addr + segment->p_vaddr;
  search->found->dlfo_map_start = (void*)start;
  search->found->dlfo_map_end = (void*)(start + segment->p_memsz);
  search->found->dlfo_eh_frame = (void*)(object->dlpi_addr + table->p_vaddr);
  return 1;
}

/* 0, or -1 where no object with a table holds the address. The unwinder reads the table alone. */
__attribute__((visibility("hidden"))) int _dl_find_object(void* address, struct dl_find_object* result) {
  const struct dl_find_object nothing = {0};
  struct search search = {(uintptr_t)address, result};
  *result = nothing;
  return dl_iterate_phdr(holds, &search) == 1 ? 0 : -1;
}

#endif
