// What green contexts have of the software device, and how it is divided.
#include <bit>

#include "newer_cuda.h"
#include "newer_resources.h"
#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaGreen : public SoftwareDevice {
 protected:
  void SetUp() override {
    ::setenv("TESSERA_SOFTWARE_MULTIPROCESSORS", "20", 1);
    SoftwareDevice::SetUp();
    ASSERT_OK(CU(cuDeviceGetDevResource)(0, &all_, CU_DEV_RESOURCE_TYPE_SM));
  }
  CUgreenCtx green(CUdevResource* resources, unsigned count) {
    CUdevResourceDesc description = nullptr;
    CUgreenCtx made = nullptr;
    EXPECT_OK(CU(cuDevResourceGenerateDesc)(&description, resources, count));
    EXPECT_OK(CU(cuGreenCtxCreate)(&made, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return made;
  }
  CUresult split(unsigned count, unsigned flags, CUdevResource* result, CUdevResource* rest) {
    CU_DEV_SM_RESOURCE_GROUP_PARAMS asked[2] = {};
    for (auto& each : asked) {
      each.smCount = count;
      each.flags = flags;
    }
    return CU(cuDevSmResourceSplit)(result, 2, &all_, rest, 0, asked);
  }

  CUdevResource all_{};
};

TEST_F(SoftcudaGreen, GroupsOfOneSizeAreWholeUnits) {
  EXPECT_EQ(all_.sm.smCount, 20u);
  EXPECT_EQ(all_.sm.minSmPartitionSize, 8u);
  int reported = 0;
  EXPECT_OK(CU(cuDeviceGetAttribute)(&reported, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  EXPECT_EQ(reported, 20);
  unsigned groups = 0;
  EXPECT_OK(CU(cuDevSmResourceSplitByCount)(nullptr, &groups, &all_, nullptr, 0, 5));
  EXPECT_EQ(groups, 2u);
  CUdevResource parts[4] = {}, rest{};
  groups = 4;
  EXPECT_OK(CU(cuDevSmResourceSplitByCount)(parts, &groups, &all_, &rest, 0, 5));
  EXPECT_EQ(groups, 2u);
  EXPECT_EQ(parts[1].sm.smCount, 8u);
  EXPECT_EQ(rest.sm.smCount, 4u);
  groups = 4;
  const unsigned fine = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
  EXPECT_OK(CU(cuDevSmResourceSplitByCount)(parts, &groups, &all_, &rest, fine, 5));
  EXPECT_EQ(groups, 3u);
  EXPECT_EQ(parts[2].sm.smCount, 6u);
  EXPECT_EQ(CU(cuDevSmResourceSplitByCount)(parts, &groups, &all_, &rest, 0, 21), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(SoftcudaGreen, SplitsByRequestedSizes) {
  CUdevResource parts[2] = {}, rest{};
  EXPECT_OK(split(8, 0, parts, &rest));
  EXPECT_EQ(rest.sm.smCount, 4u);
  EXPECT_EQ(split(10, 0, parts, &rest), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION) << "no multiple of 8";
  EXPECT_OK(split(10, TESSERA_RESOURCE_BACKFILL, parts, &rest));
  EXPECT_EQ(parts[1].sm.smCount, 10u);
  EXPECT_EQ(rest.type, CU_DEV_RESOURCE_TYPE_INVALID) << "nothing is left";
  EXPECT_EQ(split(12, TESSERA_RESOURCE_BACKFILL, parts, &rest), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
  CU_DEV_SM_RESOURCE_GROUP_PARAMS asked[2] = {};
  asked[1].coscheduledSmCount = 4;
  EXPECT_OK(CU(cuDevSmResourceSplit)(nullptr, 2, &all_, nullptr, 0, asked));
  EXPECT_EQ(asked[0].smCount, 16u);
  EXPECT_EQ(asked[1].smCount, 4u);
  CUdevResource made_up{};
  made_up.type = CU_DEV_RESOURCE_TYPE_SM;
  made_up.sm.smCount = 8;
  CUdevResourceDesc none = nullptr;
  EXPECT_EQ(CU(cuDevResourceGenerateDesc)(&none, &made_up, 1), CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

TEST_F(SoftcudaGreen, AContextAndItsStreamsReportTheirPart) {
  CUdevResource parts[2] = {};
  const auto queues = std::bit_cast<CUdevResourceType>(unsigned{TESSERA_RESOURCE_QUEUE_SETTINGS});
  ASSERT_OK(split(8, 0, parts, nullptr));
  ASSERT_OK(CU(cuDeviceGetDevResource)(0, &parts[1], queues));
  reinterpret_cast<TesseraDevResource*>(&parts[1])->of.queues.limit = 3;
  const CUgreenCtx made = green(parts, 2);
  CUdevResource reported{};
  EXPECT_OK(CU(cuGreenCtxGetDevResource)(made, &reported, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(reported.sm.smCount, 8u);
  EXPECT_OK(CU(cuGreenCtxGetDevResource)(made, &reported, queues));
  EXPECT_EQ(reinterpret_cast<const TesseraDevResource*>(&reported)->of.queues.limit, 3u);
  CUstream stream = nullptr;
  ASSERT_OK(CU(cuGreenCtxStreamCreate)(&stream, made, CU_STREAM_NON_BLOCKING, 0));
  EXPECT_OK(CU(cuStreamGetDevResource)(stream, &reported, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(reported.sm.smCount, 8u);
  EXPECT_OK(CU(cuStreamDestroy)(stream));
  EXPECT_OK(CU(cuCtxGetDevResource)(context_, &reported, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(reported.sm.smCount, 20u);
  EXPECT_OK(CU(cuGreenCtxDestroy)(made));
  EXPECT_EQ(CU(cuGreenCtxGetDevResource)(made, &reported, queues), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

}  // namespace
