// Managed memory and host memory pools on the software device: access, and reported attributes.
#include <cstring>
#include <vector>

#include "newer_cuda.h"
#include "newer_pools.h"
#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kPage = 4096;

class SoftcudaManaged : public SoftwareDevice {
 protected:
  CUdeviceptr managed(std::size_t bytes = kBytes) {
    CUdeviceptr address = 0;
    EXPECT_OK(CU(cuMemAllocManaged)(&address, bytes, CU_MEM_ATTACH_GLOBAL));
    return address;
  }
  int reported(CUmem_range_attribute attribute, CUdeviceptr address, std::size_t bytes = kBytes) {
    int value = -7;
    EXPECT_OK(CU(cuMemRangeGetAttribute)(&value, sizeof(value), attribute, address, bytes));
    return value;
  }
  CUmemoryPool pool(CUmemAllocationType type, CUmemLocation location) {
    CUmemPoolProps props{};
    props.allocType = type;
    props.location = location;
    CUmemoryPool made = nullptr;
    EXPECT_OK(CU(cuMemPoolCreate)(&made, &props));
    return made;
  }
  template <class Value>
  Value attribute(CUpointer_attribute which, CUdeviceptr address) {
    Value value{};
    EXPECT_OK(CU(cuPointerGetAttribute)(&value, which, address));
    return value;
  }

  const CUmemLocation here_{CU_MEM_LOCATION_TYPE_DEVICE, 0}, host_{CU_MEM_LOCATION_TYPE_HOST, 0};
};

TEST_F(SoftcudaManaged, HostAndDeviceReachItByOneAddress) {
  const CUdeviceptr block = managed();
  auto* const words = reinterpret_cast<unsigned*>(block);
  ASSERT_OK(CU(cuMemsetD32)(block, 7, kBytes / 4));
  EXPECT_EQ(words[kBytes / 4 - 1], 7u);
  words[3] = 9;
  unsigned copied[4] = {};
  ASSERT_OK(CU(cuMemcpyDtoH)(copied, block, sizeof(copied)));
  EXPECT_EQ(copied[3], 9u);
  EXPECT_TRUE(attribute<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, block));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block), unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_HOST_POINTER, block), block);
  EXPECT_OK(CU(cuMemFree)(block));
  EXPECT_EQ(CU(cuMemFree)(block), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaManaged, MoreThanTheDeviceHasCanBeAllocated) {
  const std::size_t before = free_memory();
  const CUdeviceptr block = managed(2 * kMemory);
  EXPECT_EQ(free_memory(), before);
  ASSERT_OK(CU(cuMemsetD8)(block + kMemory, 5, kMemory));
  EXPECT_EQ(reinterpret_cast<unsigned char*>(block)[2 * kMemory - 1], 5);
  EXPECT_OK(CU(cuMemFree)(block));
  CUdeviceptr none = 0;
  EXPECT_EQ(CU(cuMemAllocManaged)(&none, kBytes, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemAllocManaged)(&none, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaManaged, HintsApplyOnlyToTheirRange) {
  const CUdeviceptr block = managed();
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, block), CU_DEVICE_INVALID);
  ASSERT_OK(CU(cuMemAdvise)(block + kPage, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, here_));
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, block), 0);
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, block + kPage, kPage), 1);
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, block + kPage, kPage + 1), 0);
  ASSERT_OK(CU(cuMemAdvise)(block, kBytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here_));
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, block), 0);
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, block + kPage, kPage), 1);
  ASSERT_OK(CU(cuMemAdvise)(block, kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host_));
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, block), CU_DEVICE_INVALID);
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, block, kPage), CU_MEM_LOCATION_TYPE_HOST);
  EXPECT_OK(CU(cuMemFree)(block));
  const CUdeviceptr again = managed();
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, again), CU_DEVICE_INVALID);
  EXPECT_OK(CU(cuMemFree)(again));
}

TEST_F(SoftcudaManaged, ReportsAccessorsAndTheLastPrefetchLocation) {
  const CUdeviceptr block = managed();
  ASSERT_OK(CU(cuMemAdvise)(block, kBytes, CU_MEM_ADVISE_SET_ACCESSED_BY, {CU_MEM_LOCATION_TYPE_DEVICE, 1}));
  ASSERT_OK(CU(cuMemAdvise)(block, kBytes, CU_MEM_ADVISE_SET_ACCESSED_BY, host_));
  int devices[3] = {7, 7, 7}, where = 7;
  void* data[] = {devices, &where};
  std::size_t sizes[] = {sizeof(devices), sizeof(where)};
  CUmem_range_attribute asked[] = {CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION};
  ASSERT_OK(CU(cuMemPrefetchAsync)(block, kBytes, here_, 0, nullptr));
  ASSERT_OK(CU(cuMemRangeGetAttributes)(data, sizes, asked, 2, block, kBytes));
  EXPECT_EQ(devices[0], 1);
  EXPECT_EQ(devices[1], CU_DEVICE_CPU);
  EXPECT_EQ(devices[2], CU_DEVICE_INVALID);
  EXPECT_EQ(where, 0);
  EXPECT_EQ(CU(cuMemAdvise)(block, kBytes, CU_MEM_ADVISE_SET_ACCESSED_BY, {CU_MEM_LOCATION_TYPE_DEVICE, 9}),
            CUDA_ERROR_INVALID_DEVICE);
  EXPECT_OK(CU(cuMemFree)(block));
}

TEST_F(SoftcudaManaged, ABatchPrefetchesEachRangeToItsPlace) {
  CUdeviceptr blocks[3] = {managed(), managed(), managed()};
  std::size_t sizes[3] = {kBytes, kBytes, kBytes}, from[2] = {0, 2};
  CUmemLocation places[2] = {here_, host_};
  ASSERT_OK(CU(cuMemPrefetchBatchAsync)(blocks, sizes, 3, places, from, 2, 0, nullptr));
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, blocks[1]), 0);
  EXPECT_EQ(reported(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, blocks[2]), CU_DEVICE_CPU);
  EXPECT_OK(CU(cuMemDiscardBatchAsync)(blocks, sizes, 3, 0, nullptr));
  const CUdeviceptr plain = allocate(kBytes);
  blocks[0] = plain;
  EXPECT_EQ(CU(cuMemDiscardBatchAsync)(blocks, sizes, 3, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CU(cuMemAdvise)(plain, kBytes, CU_MEM_ADVISE_SET_READ_MOSTLY, here_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaManaged, APoolOfHostMemoryIsReachedByBoth) {
  const std::size_t before = free_memory();
  const CUmemoryPool host = pool(CU_MEM_ALLOCATION_TYPE_PINNED, host_);
  CUdeviceptr block = 0;
  ASSERT_OK(CU(cuMemAllocFromPoolAsync)(&block, kBytes, host, nullptr));
  EXPECT_EQ(free_memory(), before);
  ASSERT_OK(CU(cuMemsetD8)(block, 3, kBytes));
  EXPECT_EQ(reinterpret_cast<unsigned char*>(block)[kBytes - 1], 3);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, block), unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_FALSE(attribute<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, block));
  EXPECT_EQ(attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, block), host);
  CUmemAccess_flags access{};
  CUmemLocation asked = host_;
  ASSERT_OK(CU(cuMemPoolGetAccess)(&access, host, &asked));
  EXPECT_EQ(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_OK(CU(cuMemFreeAsync)(block, nullptr));
  EXPECT_OK(CU(cuMemPoolDestroy)(host));
  EXPECT_EQ(CU(cuMemAllocFromPoolAsync)(&block, kBytes, host, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaManaged, EachKindOfMemoryHasItsOwnPools) {
  const CUmemoryPool made = pool(CU_MEM_ALLOCATION_TYPE_MANAGED, here_);
  CUmemLocation place = here_;
  CUmemoryPool usual = nullptr, of_device = nullptr, current = nullptr;
  ASSERT_OK(CU(cuMemGetDefaultMemPool)(&usual, &place, CU_MEM_ALLOCATION_TYPE_MANAGED));
  ASSERT_OK(CU(cuMemGetDefaultMemPool)(&of_device, &place, CU_MEM_ALLOCATION_TYPE_PINNED));
  EXPECT_NE(usual, of_device);
  ASSERT_OK(CU(cuMemSetMemPool)(&place, CU_MEM_ALLOCATION_TYPE_MANAGED, made));
  ASSERT_OK(CU(cuMemGetMemPool)(&current, &place, CU_MEM_ALLOCATION_TYPE_MANAGED));
  EXPECT_EQ(current, made);
  EXPECT_EQ(CU(cuDeviceSetMemPool)(0, made), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr block = 0;
  ASSERT_OK(CU(cuMemAllocFromPoolAsync)(&block, kBytes, made, nullptr));
  EXPECT_TRUE(attribute<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, block));
  EXPECT_OK(CU(cuMemFreeAsync)(block, nullptr));
  EXPECT_OK(CU(cuMemPoolDestroy)(made));
  ASSERT_OK(CU(cuMemGetMemPool)(&current, &place, CU_MEM_ALLOCATION_TYPE_MANAGED));
  EXPECT_EQ(current, usual);
  EXPECT_EQ(CU(cuMemPoolDestroy)(usual), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaManaged, APoolRemembersItsAttributes) {
  const CUmemoryPool made = pool(CU_MEM_ALLOCATION_TYPE_PINNED, here_);
  int off = 0, reported_switch = 7;
  ASSERT_OK(CU(cuMemPoolSetAttribute)(made, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &off));
  ASSERT_OK(CU(cuMemPoolGetAttribute)(made, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reported_switch));
  EXPECT_EQ(reported_switch, 0);
  cuuint64_t kept = 12345, reported_kept = 0;
  ASSERT_OK(CU(cuMemPoolSetAttribute)(made, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept));
  ASSERT_OK(CU(cuMemPoolGetAttribute)(made, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &reported_kept));
  EXPECT_EQ(reported_kept, kept);
  EXPECT_EQ(CU(cuMemPoolSetAttribute)(made, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &kept), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuMemPoolDestroy)(made));
}

TEST_F(SoftcudaManaged, APoolTellsItsAmountsAndProperties) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = here_;
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  props.maxSize = 5 << 20;
  CUmemoryPool made = nullptr;
  ASSERT_OK(CU(cuMemPoolCreate)(&made, &props));
  const auto amount = [&](int attribute) {
    cuuint64_t told = 0;
    EXPECT_OK(CU(cuMemPoolGetAttribute)(made, static_cast<CUmemPool_attribute>(attribute), &told)) << attribute;
    return told;
  };
  const auto number = [&](int attribute) {
    int told = -7;
    EXPECT_OK(CU(cuMemPoolGetAttribute)(made, static_cast<CUmemPool_attribute>(attribute), &told)) << attribute;
    return told;
  };
  CUdeviceptr block[2] = {};
  ASSERT_OK(CU(cuMemAllocFromPoolAsync)(&block[0], (3 << 20) + 1, made, nullptr));
  ASSERT_OK(CU(cuMemAllocFromPoolAsync)(&block[1], 1, made, nullptr));
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), (3u << 20) + 2);
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32u << 20);
  ASSERT_OK(CU(cuMemFreeAsync)(block[0], nullptr));
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1u);
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32u << 20);
  cuuint64_t zero = 0;
  ASSERT_OK(CU(cuMemPoolSetAttribute)(made, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 32u << 20);
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_USED_MEM_HIGH), (3u << 20) + 2);
  EXPECT_EQ(number(TESSERA_MEMPOOL_ATTR_ALLOCATION_TYPE), CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(number(TESSERA_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  EXPECT_EQ(number(TESSERA_MEMPOOL_ATTR_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(number(TESSERA_MEMPOOL_ATTR_LOCATION_ID), 0);
  EXPECT_EQ(amount(TESSERA_MEMPOOL_ATTR_MAX_POOL_SIZE), 32u << 20);
  EXPECT_EQ(number(TESSERA_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED), 0);
  EXPECT_EQ(number(TESSERA_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID), -1);
  const auto ask = [&](int attribute) {
    return CU(cuMemPoolGetAttribute)(made, static_cast<CUmemPool_attribute>(attribute), &zero);
  };
  EXPECT_EQ(ask(TESSERA_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID + 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuMemFreeAsync)(block[1], nullptr));
  EXPECT_OK(CU(cuMemPoolDestroy)(made));
}

TEST_F(SoftcudaManaged, APoolIsNotLargerThanItsMaximumSize) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = here_;
  props.maxSize = 1;
  CUmemoryPool made = nullptr;
  ASSERT_OK(CU(cuMemPoolCreate)(&made, &props));
  CUdeviceptr block = 0, other = 0;
  EXPECT_EQ(CU(cuMemAllocFromPoolAsync)(&block, (32 << 20) + 1, made, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_OK(CU(cuMemAllocFromPoolAsync)(&block, 32 << 20, made, nullptr));
  EXPECT_EQ(CU(cuMemAllocFromPoolAsync)(&other, 1, made, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_OK(CU(cuMemFree)(block));
  ASSERT_OK(CU(cuMemAllocFromPoolAsync)(&other, 1, made, nullptr));
  ASSERT_OK(CU(cuMemFreeAsync)(other, nullptr));
  EXPECT_OK(CU(cuMemPoolDestroy)(made));
  props.maxSize = 2 << 20;
  props.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
  EXPECT_EQ(CU(cuMemPoolCreate)(&made, &props), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
