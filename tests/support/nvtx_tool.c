/* A minimal profiler: NVTX loads it through NVTX_INJECTION64_PATH, and reports every range to it.
 *
 * Writes one line per call to the file named by NVTX_TOOL_OUTPUT:
 *   domain NAME | push THREAD NAME NUMBER | pop THREAD | start ID NAME NUMBER | end ID
 *
 * Thread safety: any thread; each line is a single write.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int output = -1;
static atomic_ulong ids;

#define TELL(...) ((void)dprintf(output, __VA_ARGS__))

static const char* name_of(const nvtxEventAttributes_t* attributes) {
  return attributes->messageType == NVTX_MESSAGE_TYPE_ASCII ? attributes->message.ascii : "?";
}

static nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  static char any;
  TELL("domain %s\n", name);
  return (nvtxDomainHandle_t)&any;
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  (void)domain;
  TELL("push %d %s %llu\n", gettid(), name_of(attributes), (unsigned long long)attributes->payload.ullValue);
  return 0;
}

static int NVTX_API pop(nvtxDomainHandle_t domain) {
  (void)domain;
  TELL("pop %d\n", gettid());
  return 0;
}

static nvtxRangeId_t NVTX_API start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  const nvtxRangeId_t id = atomic_fetch_add(&ids, 1) + 1;
  (void)domain;
  TELL("start %llu %s %llu\n", (unsigned long long)id, name_of(attributes),
       (unsigned long long)attributes->payload.ullValue);
  return id;
}

static void NVTX_API end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  (void)domain;
  TELL("end %llu\n", (unsigned long long)id);
}

#define TAKE(call, function) (*table[NVTX_CBID_CORE2_##call] = (NvtxFunctionPointer)(function))

/* Called by NVTX once in each library that uses it. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const NvtxExportTableCallbacks* callbacks = get_table(NVTX_ETID_CALLBACKS);
  const char* const path = getenv("NVTX_TOOL_OUTPUT");
  NvtxFunctionTable table = NULL;
  unsigned size = 0;
  if (path == NULL || callbacks == NULL) return 0;
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) return 0;
  output = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0 || size <= NVTX_CBID_CORE2_DomainCreateA) return 0;
  TAKE(DomainCreateA, create_domain);
  TAKE(DomainRangePushEx, push);
  TAKE(DomainRangePop, pop);
  TAKE(DomainRangeStartEx, start);
  TAKE(DomainRangeEnd, end);
  return 1;
}
