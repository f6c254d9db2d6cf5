/* Random calls of virtual memory management, right and wrong ones, in an order that no framework makes.
 *
 *   mapped_random KERNELS SEED CALLS
 *
 * One line for each call: what it was, its result, and what it answered. Handles have contents, which are written, used
 * by kernels and read wherever they are mapped. With and without Tessera the lines are the same. No call uses a handle
 * that was released, and none maps beyond its reservation: drivers crash, or accept that.
 *
 * Thread safety: one thread.
 */
#include "mapped.h"
#include "random_calls.h"

#include <stdint.h>
#include <unistd.h>

enum { RESERVATIONS = 5, HANDLES = 10, PLACES = 40, MOST = 12 };

struct reservation {
  CUdeviceptr at; /* 0: none */
  size_t pages;
};

struct handle {
  CUmemGenericAllocationHandle number;
  unsigned references; /* 0: none */
  size_t pages;
  int content; /* of its last number */
  int filled, shared;
};

struct place { /* a mapping */
  int reservation, handle, open;
  size_t page;
};

static struct reservation reservations[RESERVATIONS];
static struct handle handles[HANDLES];
static struct place places[PLACES];
static int place_count;

static int mapped_anywhere(int handle) {
  for (int i = 0; i < place_count; ++i) {
    if (places[i].handle == handle) return 1;
  }
  return 0;
}

/* A reservation that there is; -1 if there is none. */
static int any_reservation(void) {
  const int first = (int)draw(RESERVATIONS);
  for (int i = 0; i < RESERVATIONS; ++i) {
    if (reservations[(first + i) % RESERVATIONS].at != 0) return (first + i) % RESERVATIONS;
  }
  return -1;
}

static int any_handle(void) {
  const int first = (int)draw(HANDLES);
  for (int i = 0; i < HANDLES; ++i) {
    if (handles[(first + i) % HANDLES].references != 0) return (first + i) % HANDLES;
  }
  return -1;
}

/* The mapping that contains the page; null if there is none. */
static struct place* place_of(int reservation, size_t page) {
  for (int i = 0; i < place_count; ++i) {
    struct place* const each = &places[i];
    if (each->reservation == reservation && page >= each->page && page - each->page < handles[each->handle].pages) {
      return each;
    }
  }
  return NULL;
}

static CUdeviceptr address_of(const struct place* of) { return reservations[of->reservation].at + of->page * PAGE; }

/* ---- calls --------------------------------------------------------------------------------------
 */

static void reserve_some(void) {
  const int i = (int)draw(RESERVATIONS);
  if (reservations[i].at != 0) return;
  reservations[i].pages = 1 + draw(MOST);
  const size_t alignment = draw(2) * PAGE << draw(3);
  printf("reserve %d of %zu pages, aligned to %zu", i, reservations[i].pages, alignment);
  say(cuMemAddressReserve(&reservations[i].at, reservations[i].pages * PAGE, alignment, 0, 0));
}

static void free_some(void) {
  const int i = any_reservation();
  if (i < 0) return;
  const size_t wrong = draw(8) == 0 ? PAGE : 0;
  const CUresult result = cuMemAddressFree(reservations[i].at, reservations[i].pages * PAGE + wrong);
  printf("free %d, %zu more", i, wrong);
  say(result);
  if (result == CUDA_SUCCESS) reservations[i].at = 0;
}

static void create_some(void) {
  const int i = (int)draw(HANDLES);
  struct handle* const made = &handles[i];
  if (made->references != 0 || mapped_anywhere(i)) return;
  made->pages = 1 + draw(4);
  made->shared = draw(5) == 0;
  shared_as = made->shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
  const CUresult result = create(&made->number, made->pages * PAGE);
  printf("create %d of %zu pages%s", i, made->pages, made->shared ? ", to be shared" : "");
  say(result);
  made->references = result == CUDA_SUCCESS;
  made->filled = 0;
}

static void release_some(void) {
  const int i = any_handle();
  if (i < 0) return;
  const CUresult result = cuMemRelease(handles[i].number);
  printf("release %d", i);
  say(result);
  if (result == CUDA_SUCCESS) --handles[i].references;
}

static void map_some(void) {
  const int in = any_reservation(), i = any_handle();
  if (in < 0 || i < 0 || place_count == PLACES || handles[i].pages > reservations[in].pages) return;
  const size_t page = draw((unsigned)(reservations[in].pages - handles[i].pages) + 1);
  const size_t aside = draw(12) == 0 ? PAGE / 2 : 0; /* between pages */
  if (aside != 0 && page + handles[i].pages == reservations[in].pages) return;
  const unsigned long long flags = draw(20) == 0;
  const CUresult result =
      cuMemMap(reservations[in].at + page * PAGE + aside, handles[i].pages * PAGE, 0, handles[i].number, flags);
  printf("map %d at page %zu of %d, aside %zu, flags %llu", i, page, in, aside, flags);
  say(result);
  if (result == CUDA_SUCCESS) places[place_count++] = (struct place){in, i, 0, page};
}

static void unmap_some(void) {
  const int in = any_reservation();
  if (in < 0) return;
  size_t page = draw((unsigned)reservations[in].pages);
  size_t count = 1 + draw((unsigned)(reservations[in].pages - page));
  const struct place* const one = place_of(in, page);
  if (one != NULL && draw(3) != 0) { /* just this one */
    page = one->page;
    count = handles[one->handle].pages;
  }
  CHECK(cuCtxSynchronize());
  const CUresult result = cuMemUnmap(reservations[in].at + page * PAGE, count * PAGE);
  printf("unmap %zu pages at %zu of %d", count, page, in);
  say(result);
  for (int i = place_count; result == CUDA_SUCCESS && i-- > 0;) {
    const int gone = places[i].reservation == in && places[i].page >= page && places[i].page < page + count;
    if (gone) places[i] = places[--place_count];
  }
}

static void open_some(void) {
  const int in = any_reservation();
  if (in < 0) return;
  size_t page = draw((unsigned)reservations[in].pages);
  size_t count = draw(10) == 0 ? 0 : 1 + draw((unsigned)(reservations[in].pages - page));
  const struct place* const one = place_of(in, page);
  if (one != NULL && draw(3) != 0) {
    page = one->page;
    count = handles[one->handle].pages;
  }
  const size_t more = draw(12) == 0 && page + count < reservations[in].pages ? PAGE / 2 : 0;
  const CUresult result = give_access(reservations[in].at + page * PAGE, count * PAGE + more);
  printf("access to %zu pages at %zu of %d, %zu more", count, page, in, more);
  say(result);
  for (int i = 0; result == CUDA_SUCCESS && i < place_count; ++i) {
    const int within = places[i].reservation == in && places[i].page >= page && places[i].page < page + count;
    if (within) places[i].open = 1;
  }
}

static void ask_some(void) {
  const int in = any_reservation();
  if (in < 0) return;
  const CUdeviceptr at = reservations[in].at + draw((unsigned)reservations[in].pages) * PAGE + draw((unsigned)PAGE);
  CUmemLocation here;
  unsigned long long flags = 9;
  unsigned type = 9;
  int ordinal = -5;
  memset(&here, 0, sizeof(here));
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  here.id = device;
  const CUresult access = cuMemGetAccess(&flags, &here, at);
  printf("access at %llu of %d, %llu", at - reservations[in].at, in, flags);
  say(access);
  const struct place* const one = place_of(in, (size_t)(at - reservations[in].at) / PAGE);
  if (one != NULL && one->open) {
    const CUresult told = cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
    CHECK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
    printf("type %u, ordinal %d", type, ordinal);
    say(told);
  }
}

static void ask_a_handle(void) {
  const int i = any_handle();
  CUmemAllocationProp told;
  if (i < 0) return;
  CHECK(cuMemGetAllocationPropertiesFromHandle(&told, handles[i].number));
  printf("handle %d: type %d, at %d %d, shared as %d\n", i, (int)told.type, (int)told.location.type, told.location.id,
         (int)told.requestedHandleTypes);
}

static void retain_some(void) {
  const int in = any_reservation();
  CUmemGenericAllocationHandle handle = 0;
  if (in < 0) return;
  const size_t page = draw((unsigned)reservations[in].pages);
  const CUdeviceptr at = reservations[in].at + page * PAGE + draw((unsigned)PAGE);
  const CUresult result = cuMemRetainAllocationHandle(&handle, (void*)(uintptr_t)at);
  const struct place* const one = place_of(in, page);
  printf("retain at page %zu of %d", page, in);
  say(result);
  if (result != CUDA_SUCCESS || one == NULL) return;
  struct handle* const of = &handles[one->handle];
  if (of->references != 0) printf("the same: %d\n", of->number == handle);
  of->number = handle;
  ++of->references;
}

static void export_some(void) {
  const int i = any_handle();
  int file = -1;
  if (i < 0) return;
  const CUresult result =
      cuMemExportToShareableHandle(&file, handles[i].number, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  printf("export %d", i);
  say(result);
  if (result == CUDA_SUCCESS) close(file);
}

/* ---- contents -----------------------------------------------------------------------------------
 */

static struct place* any_open(void) {
  const int first = place_count != 0 ? (int)draw((unsigned)place_count) : 0;
  for (int i = 0; i < place_count; ++i) {
    struct place* const each = &places[(first + i) % place_count];
    if (each->open) return each;
  }
  return NULL;
}

static void fill_some(void) {
  struct place* const one = any_open();
  if (one == NULL) return;
  struct handle* const of = &handles[one->handle];
  of->content = (int)draw(1000000);
  of->filled = 1;
  fill(address_of(one), of->pages * PAGE, of->content);
}

static void use_some(void) {
  struct place* const one = any_open();
  if (one == NULL || !handles[one->handle].filled) return;
  add_one(address_of(one), handles[one->handle].pages * PAGE);
  ++handles[one->handle].content;
}

static void check_some(void) {
  struct place* const one = any_open();
  if (one == NULL || !handles[one->handle].filled) return;
  CHECK(cuCtxSynchronize());
  const struct handle* const of = &handles[one->handle];
  printf("contents of %d: %s\n", one->handle,
         holds(address_of(one), of->pages * PAGE, one->handle, of->content) ? "right" : "wrong");
}

/* A copy that may lie across mappings, or where there is none. */
static void copy_some(void) {
  static char bytes[2 * PAGE];
  const int in = any_reservation();
  if (in < 0) return;
  const size_t page = draw((unsigned)reservations[in].pages);
  const size_t count = reservations[in].pages - page > 1 ? 2 : 1;
  for (size_t i = 0; i < count; ++i) {
    const struct place* const one = place_of(in, page + i);
    if (one != NULL && one->open && !handles[one->handle].filled) return; /* nothing is known of its bytes */
  }
  CHECK(cuCtxSynchronize());
  const CUresult result = cuMemcpyDtoH(bytes, reservations[in].at + page * PAGE, count * PAGE);
  printf("copy of %zu pages at %zu of %d", count, page, in);
  say(result);
  for (size_t i = 0; result == CUDA_SUCCESS && i < count; ++i) {
    const struct place* const one = place_of(in, page + i);
    int value;
    memcpy(&value, bytes + (i + 1) * PAGE - sizeof(value), sizeof(value));
    printf("  %s\n", one != NULL && value == handles[one->handle].content ? "right" : "wrong");
  }
}

int main(int argc, char** argv) {
  static void (*const calls[])(void) = {reserve_some, free_some,   create_some, create_some,  release_some, map_some,
                                        map_some,     map_some,    unmap_some,  open_some,    open_some,    open_some,
                                        ask_some,     retain_some, export_some, ask_a_handle, fill_some,    fill_some,
                                        use_some,     use_some,    use_some,    check_some,   copy_some};
  if (argc != 4) return 2;
  state = strtoull(argv[2], NULL, 10) * 2654435761u + 1;
  start(argv[1]);
  for (int left = atoi(argv[3]); left-- > 0;) calls[draw(sizeof(calls) / sizeof(calls[0]))]();
  return end(1);
}
