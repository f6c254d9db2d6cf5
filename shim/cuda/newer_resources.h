/* The contents of a CUdevResource since CUDA 13.1, for builds with an older cuda.h: size and offset are unchanged.
 *
 * Thread safety: declarations only.
 */
#ifndef TESSERA_SHIM_CUDA_NEWER_RESOURCES_H
#define TESSERA_SHIM_CUDA_NEWER_RESOURCES_H

#include <assert.h>
#include <cuda.h>
#include <stddef.h>

/* Kinds of CUdevResource and their contents, 13.1. */
enum { TESSERA_RESOURCE_QUEUE_SETTINGS = 1000, TESSERA_RESOURCE_QUEUES = 10000, TESSERA_RESOURCE_BACKFILL = 1 };
typedef struct TesseraDevResource_st {
  int type;
  unsigned char internal[92]; /* the driver's own */
  union {
    struct {
      unsigned int count;
      unsigned int least; /* of a group */
      unsigned int alignment;
      unsigned int flags;
      unsigned int locality;
    } sm;
    struct {
      CUdevice device;
      unsigned int limit; /* of work at a time */
      int scope;
    } queues;
    unsigned char bytes[40];
  } of;
  struct TesseraDevResource_st* next;
} TesseraDevResource;
static_assert(sizeof(TesseraDevResource) == sizeof(CUdevResource) &&
                  offsetof(TesseraDevResource, of) == offsetof(CUdevResource, sm),
              "as in cuda.h");

#endif
