#include "driver/cuda_context.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace tessera {
namespace {

// A model of a driver's contexts only: devices 0 and 1, one primary context each.
struct ContextModel {
  std::vector<CUcontext> stack;
  std::map<CUcontext, CUdevice> device_of;
  std::map<CUdevice, int> primary_references;
  std::map<CUstream, CUcontext> context_of;
};
ContextModel model;

CUcontext context_named(std::uintptr_t number) { return reinterpret_cast<CUcontext>(number); }
CUcontext primary_of(CUdevice device) { return context_named(0x100 + static_cast<std::uintptr_t>(device)); }

CudaSymbols symbols_of_the_model() {
  CudaSymbols symbols{};
  symbols.cuGetErrorName = [](CUresult, const char** name) {
    *name = "CUDA_ERROR_SOMETHING";
    return CUDA_SUCCESS;
  };
  symbols.cuCtxGetCurrent = [](CUcontext* context) {
    *context = model.stack.empty() ? nullptr : model.stack.back();
    return CUDA_SUCCESS;
  };
  symbols.cuCtxGetDevice = [](CUdevice* device) {
    if (model.stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *device = model.device_of[model.stack.back()];
    return CUDA_SUCCESS;
  };
  symbols.cuCtxPushCurrent = [](CUcontext context) {
    model.stack.push_back(context);
    return CUDA_SUCCESS;
  };
  symbols.cuCtxPopCurrent = [](CUcontext* context) {
    *context = model.stack.back();
    model.stack.pop_back();
    return CUDA_SUCCESS;
  };
  symbols.cuStreamGetCtx = [](CUstream stream, CUcontext* context) {
    *context = model.context_of[stream];
    return *context == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  };
  symbols.cuDevicePrimaryCtxGetState = [](CUdevice device, unsigned*, int* active) {
    *active = model.primary_references[device] > 0 ? 1 : 0;
    return CUDA_SUCCESS;
  };
  symbols.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice device) {
    ++model.primary_references[device];
    *context = primary_of(device);
    model.device_of[*context] = device;
    return CUDA_SUCCESS;
  };
  symbols.cuDevicePrimaryCtxRelease = [](CUdevice device) {
    --model.primary_references[device];
    return CUDA_SUCCESS;
  };
  return symbols;
}

class CudaContextTest : public ::testing::Test {
 protected:
  void SetUp() override { model = ContextModel{}; }
  void make_current(CUcontext context, CUdevice device) {
    model.device_of[context] = device;
    model.stack.push_back(context);
  }
  CudaSymbols symbols_ = symbols_of_the_model();
};

TEST_F(CudaContextTest, DistinguishesResults) {
  EXPECT_TRUE(cuda_status(symbols_, CUDA_SUCCESS, "cuX").is_ok());
  EXPECT_EQ(cuda_status(symbols_, CUDA_ERROR_OUT_OF_MEMORY, "cuX").code(), Code::kOutOfMemory);
  EXPECT_EQ(cuda_status(symbols_, CUDA_ERROR_NOT_READY, "cuX").code(), Code::kNotReady);
  EXPECT_EQ(cuda_status(symbols_, CUDA_ERROR_NOT_SUPPORTED, "cuX").code(), Code::kNotSupported);
  const Status other = cuda_status(symbols_, CUDA_ERROR_INVALID_VALUE, "cuX");
  EXPECT_EQ(other.code(), Code::kDriver);
  EXPECT_EQ(other.native_code(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(other.message(), "cuX: CUDA_ERROR_SOMETHING (1)");
}

TEST_F(CudaContextTest, AdoptsTheProgramsOwnContextWithoutMakingAPrimaryOne) {
  make_current(context_named(7), 1);
  CudaContexts contexts(symbols_, 2);
  EXPECT_EQ(contexts.adopted(DeviceId(1)).value(), context_named(7));
  EXPECT_EQ(model.primary_references[1], 0);
}

TEST_F(CudaContextTest, HoldsThePrimaryContextThatTheProgramUses) {
  model.primary_references[0] = 1;
  make_current(primary_of(0), 0);
  {
    CudaContexts contexts(symbols_, 2);
    EXPECT_EQ(contexts.adopted(DeviceId(0)).value(), primary_of(0));
    EXPECT_EQ(model.primary_references[0], 2);
  }
  EXPECT_EQ(model.primary_references[0], 1);
}

TEST_F(CudaContextTest, RetainsThePrimaryContextWhereNoneIsCurrent) {
  CudaContexts contexts(symbols_, 2);
  EXPECT_EQ(contexts.adopted(DeviceId(1)).value(), primary_of(1));
  EXPECT_EQ(model.primary_references[1], 1);
}

TEST_F(CudaContextTest, AScopeRestoresTheContextStack) {
  CudaContexts contexts(symbols_, 2);
  {
    const CudaScope scope(symbols_, contexts);
    EXPECT_TRUE(scope.status().is_ok());
    EXPECT_EQ(model.stack.back(), primary_of(0));
  }
  EXPECT_TRUE(model.stack.empty());
}

TEST_F(CudaContextTest, AScopeUsesTheCurrentContextWhereItServes) {
  make_current(context_named(7), 1);
  CudaContexts contexts(symbols_, 2);
  const CudaScope same(symbols_, contexts, DeviceId(1));
  EXPECT_EQ(model.stack.size(), 1u);
  const CudaScope other(symbols_, contexts, DeviceId(0));
  EXPECT_EQ(model.stack.back(), primary_of(0));
}

TEST_F(CudaContextTest, ACopyRunsInTheContextOfItsStream) {
  constexpr StreamId kMade{0x770};
  model.context_of[reinterpret_cast<CUstream>(kMade.value())] = context_named(9);
  CudaContexts contexts(symbols_, 2);
  ASSERT_TRUE(contexts.adopted(DeviceId(0)).is_ok());  // the lender's, for example: it would serve any call
  const auto within = [&](StreamId stream) {
    const CudaScope scope(symbols_, contexts, stream);
    EXPECT_TRUE(scope.status().is_ok());
    return model.stack.back();
  };
  EXPECT_EQ(within(kMade), context_named(9));
  EXPECT_EQ(within(StreamId(0)), primary_of(0)) << "of the legacy default stream none is known";
  make_current(context_named(7), 0);
  EXPECT_EQ(within(kMade), context_named(9));
  EXPECT_EQ(within(StreamId(2)), context_named(7));
  model.context_of[reinterpret_cast<CUstream>(kMade.value())] = context_named(7);
  const CudaScope same(symbols_, contexts, kMade);
  EXPECT_EQ(model.stack.size(), 1u);
}

}  // namespace
}  // namespace tessera
