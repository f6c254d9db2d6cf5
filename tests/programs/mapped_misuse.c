/* Mapped memory in ways that a movable block cannot serve, and in wrong ways.
 *
 *   mapped_misuse KERNELS export|twice|part|release|beside|devices|none|errors|segment
 *
 * export   a handle is exported after use, and opened again: both addresses show the same bytes
 * twice    a handle is mapped at a second address while the first is in use
 * part     a handle is mapped into a reservation that it does not fill, next to another
 * release  a handle is released while it is mapped, and retained again by its address
 * beside   of several handles in a reservation one is exported, or mapped a second time, or another is opened beside
 *          them
 * devices  addresses are reserved while one of two devices is the current one, and memory of either is mapped there
 * none     no context is current in the calls that need none
 * errors   calls that CUDA refuses; the results are printed. None uses a handle that was released: drivers crash
 * segment  the same in a reservation with several handles and a gap. None maps beyond the reservation: drivers accept
 *          that
 *
 * Prints "ok" if every byte is right. With and without Tessera the output is the same.
 *
 * Thread safety: one thread.
 */
#include "mapped.h"

#include <stdint.h>
#include <unistd.h>

#define BYTES (4 * PAGE)

static const char* kernels;

static struct mapping made(void) {
  struct mapping block = {reserve(BYTES), BYTES, 0};
  CHECK(create(&block.handle, BYTES));
  map(&block);
  return block;
}

static void end_block(struct mapping* block) {
  unmap(block);
  CHECK(cuMemAddressFree(block->at, block->bytes));
}

static int same_bytes(CUdeviceptr one, CUdeviceptr other, int value) {
  add_one(one, BYTES);
  const int right = holds(other, BYTES, 0, value + 1);
  add_one(other, BYTES);
  return holds(one, BYTES, 1, value + 2) && right;
}

static int export_it(void) {
  int file = -1;
  shared_as = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  struct mapping block = made();
  struct mapping opened = {reserve(BYTES), BYTES, 0};
  fill(block.at, BYTES, 5);
  CHECK(cuMemExportToShareableHandle(&file, block.handle, shared_as, 0));
  CHECK(cuMemImportFromShareableHandle(&opened.handle, (void*)(intptr_t)file, shared_as));
  close(file);
  map(&opened);
  const int right = same_bytes(block.at, opened.at, 5);
  end_block(&opened);
  end_block(&block);
  return right;
}

static int twice(void) {
  struct mapping block = made();
  struct mapping second = {reserve(BYTES), BYTES, block.handle};
  fill(block.at, BYTES, 5);
  map(&second);
  const int right = same_bytes(block.at, second.at, 5);
  CHECK(cuMemUnmap(second.at, BYTES));
  CHECK(cuMemAddressFree(second.at, BYTES));
  end_block(&block);
  return right;
}

static int part(void) {
  struct mapping block = made();
  const CUdeviceptr range = reserve(3 * BYTES);
  struct mapping next = {range + BYTES, BYTES, 0};
  fill(block.at, BYTES, 5);
  CHECK(cuCtxSynchronize());
  CHECK(cuMemUnmap(block.at, BYTES));
  CHECK(cuMemAddressFree(block.at, BYTES));
  block.at = range;
  map(&block);
  int right = holds(range, BYTES, 0, 5);
  CHECK(create(&next.handle, BYTES));
  map(&next);
  fill(range, 2 * BYTES, 8); /* across both */
  add_one(range, 2 * BYTES);
  right = holds(range, 2 * BYTES, 1, 9) && right;
  unmap(&block);
  right = holds(next.at, BYTES, 2, 9) && right;
  unmap(&next);
  CHECK(cuMemAddressFree(range, 3 * BYTES));
  return right;
}

static int release(void) {
  struct mapping block = made();
  CUmemGenericAllocationHandle again = 0;
  fill(block.at, BYTES, 5);
  CHECK(cuMemRelease(block.handle));
  int right = holds(block.at, BYTES, 0, 5);
  CHECK(cuMemRetainAllocationHandle(&again, (void*)(uintptr_t)(block.at + PAGE)));
  CHECK(cuMemUnmap(block.at, BYTES));
  block.handle = again;
  map(&block);
  right = holds(block.at, BYTES, 1, 5) && right;
  CHECK(cuMemRelease(block.handle));
  add_one(block.at, BYTES);
  right = holds(block.at, BYTES, 2, 6) && right;
  CHECK(cuMemUnmap(block.at, BYTES));
  CHECK(cuMemAddressFree(block.at, BYTES));
  return right;
}

/* Three handles of 4 pages, a gap, and one more. */
enum { PARTS = 4 };

static CUdeviceptr make_segment(CUmemGenericAllocationHandle* handles) {
  const CUdeviceptr base = reserve(8 * BYTES);
  for (size_t i = 0; i < PARTS; ++i) {
    const CUdeviceptr at = base + (i == 3 ? 5 : i) * BYTES;
    CHECK(create(&handles[i], BYTES));
    CHECK(cuMemMap(at, BYTES, 0, handles[i], 0));
  }
  CHECK(give_access(base, 3 * BYTES));
  CHECK(give_access(base + 5 * BYTES, BYTES));
  fill(base, 3 * BYTES, 5);
  fill(base + 5 * BYTES, BYTES, 6);
  return base;
}

static void end_segment(CUdeviceptr base, CUmemGenericAllocationHandle* handles) {
  CHECK(cuMemUnmap(base, 8 * BYTES)); /* over the gap too */
  for (size_t i = 0; i < PARTS; ++i) CHECK(cuMemRelease(handles[i]));
  CHECK(cuMemAddressFree(base, 8 * BYTES));
}

static int beside(void) {
  int right = 1;
  for (int way = 0; way < 3; ++way) {
    CUmemGenericAllocationHandle handles[PARTS];
    CUdeviceptr other = 0;
    int file = -1;
    shared_as = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const CUdeviceptr base = make_segment(handles);
    if (way == 0) {
      CHECK(cuMemExportToShareableHandle(&file, handles[1], shared_as, 0));
      close(file);
    } else if (way == 1) {
      struct mapping second = {reserve(BYTES), BYTES, handles[1]};
      map(&second);
      other = second.at;
    } else {
      CUmemGenericAllocationHandle made, opened;
      CHECK(create(&made, BYTES));
      CHECK(cuMemExportToShareableHandle(&file, made, shared_as, 0));
      CHECK(cuMemImportFromShareableHandle(&opened, (void*)(intptr_t)file, shared_as));
      close(file);
      CHECK(cuMemMap(base + 3 * BYTES, BYTES, 0, opened, 0));
      CHECK(give_access(base + 3 * BYTES, BYTES));
      fill(base + 3 * BYTES - PAGE, BYTES + PAGE, 5); /* across both */
      add_one(base + 3 * BYTES, BYTES);
      right = holds(base + 3 * BYTES, BYTES, 3, 6) && right;
      CHECK(cuMemUnmap(base + 3 * BYTES, BYTES));
      CHECK(cuMemRelease(opened));
      CHECK(cuMemRelease(made));
    }
    add_one(base, 3 * BYTES);
    right = holds(base, 3 * BYTES, 0, 6) && right;
    if (other != 0) {
      right = holds(other, BYTES, 1, 6) && right;
      CHECK(cuMemUnmap(other, BYTES));
      CHECK(cuMemAddressFree(other, BYTES));
    }
    right = holds(base + 5 * BYTES, BYTES, 2, 6) && right;
    CHECK(cuCtxSynchronize());
    end_segment(base, handles);
  }
  return right;
}

static int devices(void) {
  enum { DEVICES = 2 };
  CUcontext contexts[DEVICES];
  CUmodule modules[DEVICES] = {module, NULL};
  int right = 1;
  CHECK(cuCtxGetCurrent(&contexts[0]));
  CHECK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
  CHECK(cuCtxSetCurrent(contexts[1]));
  CHECK(cuModuleLoad(&modules[1], kernels));
  for (int way = 0; way < 8; ++way) {
    const int reserved_on = way & 1, with_room = way >> 2 & 1;
    device = way >> 1 & 1;
    module = modules[device];
    CHECK(cuCtxSetCurrent(contexts[reserved_on]));
    const size_t reserved = with_room ? 3 * BYTES : BYTES;
    struct mapping block = {reserve(reserved), BYTES, 0};
    CHECK(cuCtxSetCurrent(contexts[device]));
    CHECK(create(&block.handle, BYTES));
    map(&block);
    fill(block.at, BYTES, way);
    add_one(block.at, BYTES);
    right = holds(block.at, BYTES, way, way + 1) && right;
    unmap(&block);
    CHECK(cuMemAddressFree(block.at, reserved));
  }
  return right;
}

static int none(void) {
  CUcontext context;
  const CUdeviceptr range = reserve(3 * BYTES);
  struct mapping block = {range, BYTES, 0}, next = {range + BYTES, BYTES, 0};
  CHECK(cuCtxGetCurrent(&context));
  CHECK(create(&block.handle, BYTES));
  map(&block);
  fill(range, BYTES, 5);
  CHECK(cuCtxSynchronize());
  CHECK(cuCtxSetCurrent(NULL));
  CHECK(create(&next.handle, BYTES));
  map(&next);
  CHECK(cuCtxSetCurrent(context));
  int right = holds(range, BYTES, 0, 5);
  fill(range, 2 * BYTES, 8);
  add_one(range, 2 * BYTES);
  CHECK(cuCtxSynchronize());
  CHECK(cuCtxSetCurrent(NULL));
  CHECK(cuMemUnmap(next.at, BYTES));
  map(&next);
  struct mapping again = {reserve(BYTES), BYTES, block.handle}; /* a second address of it */
  map(&again);
  CHECK(cuCtxSetCurrent(context));
  right = holds(range, 2 * BYTES, 1, 9) && right;
  right = same_bytes(range, again.at, 9) && right;
  CHECK(cuCtxSynchronize());
  CHECK(cuCtxSetCurrent(NULL));
  CHECK(cuMemUnmap(again.at, BYTES));
  CHECK(cuMemAddressFree(again.at, BYTES));
  unmap(&next);
  unmap(&block);
  CHECK(cuMemAddressFree(range, 3 * BYTES));
  CHECK(cuCtxSetCurrent(context));
  return right;
}

static void say(const char* what, CUresult result) {
  const char* name = "unknown error";
  cuGetErrorName(result, &name);
  printf("%s: %s\n", what, name);
  fflush(stdout); /* a driver may not survive the next call */
}

static int errors(void) {
  struct mapping block = made(), other = made();
  CUmemAccessDesc access;
  CUmemLocation location;
  CUmemGenericAllocationHandle handle = 0;
  unsigned long long flags = 9;
  int number = 0;
  memset(&location, 0, sizeof(location));
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  memset(&access, 0, sizeof(access));
  fill(block.at, BYTES, 5);

  say("create of nothing", create(&handle, 0));
  say("create of a part of a page", create(&handle, PAGE / 2));
  say("map over a mapping", cuMemMap(block.at, BYTES, 0, other.handle, 0));
  say("map where nothing is reserved", cuMemMap((CUdeviceptr)PAGE, BYTES, 0, other.handle, 0));
  say("unmap of a part", cuMemUnmap(block.at + PAGE, PAGE));
  say("free of mapped addresses", cuMemAddressFree(block.at, BYTES));
  say("free by the wrong call", cuMemFree(block.at));
  say("access for no device", cuMemSetAccess(block.at, BYTES, &access, 0));
  say("no place for the flags", cuMemGetAccess(NULL, &location, block.at));
  say("access", cuMemGetAccess(&flags, &location, block.at));
  printf("flags: %llu\n", flags);
  say("no place for properties", cuMemGetAllocationPropertiesFromHandle(NULL, block.handle));
  say("export of a handle that was not made for it",
      cuMemExportToShareableHandle(&number, block.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));

  CHECK(cuMemUnmap(other.at, BYTES));
  say("unmap again", cuMemUnmap(other.at, BYTES));
  say("copy where nothing is mapped", cuMemcpyDtoH(&number, other.at, sizeof(number)));
  say("set where nothing is mapped", cuMemsetD32(other.at, 1, 1));
  say("access where nothing is mapped", give_access(other.at, BYTES));
  say("map of a part of a handle", cuMemMap(other.at, PAGE, 0, other.handle, 0));
  say("map with an offset", cuMemMap(other.at, BYTES, PAGE, other.handle, 0));
  CHECK(cuMemMap(other.at, BYTES, 0, other.handle, 0));
  say("copy without access", cuMemcpyDtoH(&number, other.at, sizeof(number)));
  say("flags without access", cuMemGetAccess(&flags, &location, other.at));
  printf("flags: %llu\n", flags);
  CHECK(give_access(other.at, BYTES));
  say("copy beyond the end", cuMemcpyDtoH(&number, other.at + BYTES, sizeof(number)));
  say("copy across the end", cuMemsetD32(other.at + BYTES - 4, 1, 2));
  say("retain where nothing is mapped", cuMemRetainAllocationHandle(&handle, &number));
  CHECK(cuMemUnmap(other.at, BYTES));
  CHECK(cuMemRelease(other.handle));
  CHECK(cuMemAddressFree(other.at, BYTES));
  say("free again", cuMemAddressFree(other.at, BYTES));
  const int right = holds(block.at, BYTES, 0, 5);
  end_block(&block);
  return right;
}

static int segment(void) {
  CUmemGenericAllocationHandle handles[PARTS], more = 0, again = 0;
  const CUdeviceptr base = make_segment(handles);
  int number = 0;
  CHECK(create(&more, BYTES));
  CHECK(cuCtxSynchronize());
  say("map over a mapping", cuMemMap(base + BYTES, BYTES, 0, more, 0));
  say("map over the end of one", cuMemMap(base + 3 * BYTES - PAGE, BYTES, 0, more, 0));
  say("map between pages", cuMemMap(base + 3 * BYTES + PAGE / 2, BYTES, 0, more, 0));
  say("unmap of a part", cuMemUnmap(base + BYTES, PAGE));
  say("unmap of one and a half", cuMemUnmap(base, BYTES + PAGE));
  say("unmap from the middle of one", cuMemUnmap(base + PAGE, 2 * BYTES - PAGE));
  say("unmap of everything", cuMemUnmap(base, ~(size_t)0 / PAGE * PAGE));
  say("access to everything", give_access(base, ~(size_t)0 / PAGE * PAGE));
  say("unmap of a gap", cuMemUnmap(base + 3 * BYTES, BYTES));
  say("unmap over a gap and a part", cuMemUnmap(base + 2 * BYTES, 3 * BYTES + PAGE));
  say("access to a gap", give_access(base + 3 * BYTES, BYTES));
  say("access across a gap", give_access(base, 6 * BYTES));
  say("copy from a gap", cuMemcpyDtoH(&number, base + 3 * BYTES, sizeof(number)));
  say("set across the end", cuMemsetD32(base + 3 * BYTES - 4, 1, 2));
  say("free of mapped addresses", cuMemAddressFree(base, 8 * BYTES));
  say("release while mapped", cuMemRelease(handles[2]));
  say("copy after that", cuMemcpyDtoH(&number, base + 2 * BYTES, sizeof(number)));
  printf("value: %d\n", number);
  say("retain", cuMemRetainAllocationHandle(&again, (void*)(uintptr_t)(base + 3 * BYTES - PAGE)));
  handles[2] = again;
  say("unmap of the last", cuMemUnmap(base + 5 * BYTES, BYTES));
  say("unmap again", cuMemUnmap(base + 5 * BYTES, BYTES));
  say("copy where it was", cuMemcpyDtoH(&number, base + 5 * BYTES, sizeof(number)));
  say("map again", cuMemMap(base + 5 * BYTES, BYTES, 0, handles[3], 0));
  say("copy without access", cuMemcpyDtoH(&number, base + 5 * BYTES, sizeof(number)));
  say("access", give_access(base + 5 * BYTES, BYTES));
  say("access to a part and a gap", give_access(base + 2 * BYTES + PAGE, 2 * BYTES));
  const int right = holds(base, 3 * BYTES, 0, 5) && holds(base + 5 * BYTES, BYTES, 1, 6);
  CHECK(cuMemRelease(more));
  end_segment(base, handles);
  return right;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* const how = argv[2];
  kernels = argv[1];
  start(kernels);
  if (strcmp(how, "export") == 0) return end(export_it());
  if (strcmp(how, "twice") == 0) return end(twice());
  if (strcmp(how, "part") == 0) return end(part());
  if (strcmp(how, "release") == 0) return end(release());
  if (strcmp(how, "beside") == 0) return end(beside());
  if (strcmp(how, "devices") == 0) return end(devices());
  if (strcmp(how, "none") == 0) return end(none());
  if (strcmp(how, "errors") == 0) return end(errors());
  if (strcmp(how, "segment") == 0) return end(segment());
  return 2;
}
