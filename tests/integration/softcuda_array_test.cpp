// Arrays on the software device: shapes, copies, and the objects that describe them.
#include <numeric>
#include <vector>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaArray : public SoftwareDevice {
 protected:
  static CUDA_ARRAY3D_DESCRIPTOR shape(std::size_t width, std::size_t height, std::size_t depth, unsigned flags = 0) {
    return {width, height, depth, CU_AD_FORMAT_UNSIGNED_INT32, 1, flags};
  }
  CUarray make(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    CUarray array = nullptr;
    EXPECT_OK(CU(cuArray3DCreate)(&array, &shape));
    return array;
  }
  CUresult refused(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    CUarray array = nullptr;
    return CU(cuArray3DCreate)(&array, &shape);
  }
  static std::vector<unsigned> numbers(std::size_t count) {
    std::vector<unsigned> made(count);
    std::iota(made.begin(), made.end(), 1u);
    return made;
  }
  static CUDA_RESOURCE_DESC resource_of(CUarray array) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }
};

TEST_F(SoftcudaArray, TakesMemoryUntilItIsDestroyed) {
  const std::size_t before = free_memory();
  const CUDA_ARRAY3D_DESCRIPTOR asked = shape(1024, 1024, 0, CUDA_ARRAY3D_SURFACE_LDST);
  const CUarray array = make(asked);
  EXPECT_EQ(before - free_memory(), std::size_t{4} << 20);
  CUDA_ARRAY3D_DESCRIPTOR reported{};
  ASSERT_OK(CU(cuArray3DGetDescriptor)(&reported, array));
  EXPECT_EQ(reported.Width, asked.Width);
  EXPECT_EQ(reported.Flags, asked.Flags);
  CUDA_ARRAY_DESCRIPTOR flat{};
  ASSERT_OK(CU(cuArrayGetDescriptor)(&flat, array));
  EXPECT_EQ(flat.Height, asked.Height);
  ASSERT_OK(CU(cuArrayDestroy)(array));
  EXPECT_EQ(free_memory(), before);
  EXPECT_EQ(CU(cuArrayDestroy)(array), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SoftcudaArray, RefusesInvalidShapes) {
  EXPECT_EQ(refused(shape(0, 4, 0)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused(shape(4, 0, 4)), CUDA_ERROR_INVALID_VALUE) << "a depth without a height, and no layers";
  EXPECT_EQ(refused(shape(4, 8, 6, CUDA_ARRAY3D_CUBEMAP)), CUDA_ERROR_INVALID_VALUE);
  CUDA_ARRAY3D_DESCRIPTOR three = shape(4, 4, 0);
  three.NumChannels = 3;
  EXPECT_EQ(refused(three), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused(shape(4, 4, 0, CUDA_ARRAY3D_SPARSE)), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(SoftcudaArray, LinearCopiesStartAtAnOffset) {
  const CUarray array = make(shape(64, 0, 0)), other = make(shape(64, 0, 0));
  const std::vector<unsigned> source = numbers(64);
  std::vector<unsigned> target(16);
  const CUdeviceptr block = allocate(64);
  ASSERT_OK(CU(cuMemcpyHtoA)(array, 0, source.data(), 256));
  ASSERT_OK(CU(cuMemcpyAtoA)(other, 128, array, 0, 128));
  ASSERT_OK(CU(cuMemcpyAtoD)(block, other, 192, 64));
  ASSERT_OK(CU(cuMemcpyDtoA)(array, 0, block, 64));
  ASSERT_OK(CU(cuMemcpyAtoH)(target.data(), array, 0, 64));
  for (unsigned i = 0; i < 16; ++i) ASSERT_EQ(target[i], 17 + i);
  EXPECT_EQ(CU(cuMemcpyAtoH)(target.data(), array, 200, 64), CUDA_ERROR_INVALID_VALUE) << "beyond its end";
  EXPECT_OK(CU(cuMemFree)(block));
  EXPECT_OK(CU(cuArrayDestroy)(other));
  EXPECT_OK(CU(cuArrayDestroy)(array));
}

TEST_F(SoftcudaArray, CopiesABox) {
  constexpr std::size_t kWidth = 8, kHeight = 4, kDepth = 3;
  const CUarray array = make(shape(kWidth, kHeight, kDepth));
  const std::vector<unsigned> source = numbers(kWidth * kHeight * kDepth);
  std::vector<unsigned> target(4);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = source.data();
  copy.srcPitch = kWidth * 4;
  copy.srcHeight = kHeight;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = kWidth * 4;
  copy.Height = kHeight;
  copy.Depth = kDepth;
  ASSERT_OK(CU(cuMemcpy3D)(&copy));
  CUDA_MEMCPY3D back{};
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = array;
  back.srcXInBytes = 4;
  back.srcY = 1;
  back.srcZ = 1;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = target.data();
  back.dstPitch = 4;
  back.WidthInBytes = 4;
  back.Height = back.Depth = 2;
  ASSERT_OK(CU(cuMemcpy3D)(&back));
  const auto at = [&](std::size_t x, std::size_t y, std::size_t z) { return source[(z * kHeight + y) * kWidth + x]; };
  EXPECT_EQ(target, (std::vector<unsigned>{at(1, 1, 1), at(1, 2, 1), at(1, 1, 2), at(1, 2, 2)}));
  back.srcZ = 2;
  EXPECT_EQ(CU(cuMemcpy3D)(&back), CUDA_ERROR_INVALID_VALUE) << "beyond its last slice";
  EXPECT_OK(CU(cuArrayDestroy)(array));
}

TEST_F(SoftcudaArray, LevelsAreHalvesAndEndWithTheirArray) {
  const std::size_t before = free_memory();
  const CUDA_ARRAY3D_DESCRIPTOR asked = shape(16, 4, 0);
  CUmipmappedArray whole = nullptr;
  CUarray level = nullptr;
  ASSERT_OK(CU(cuMipmappedArrayCreate)(&whole, &asked, 99));
  CUDA_ARRAY3D_DESCRIPTOR reported{};
  ASSERT_OK(CU(cuMipmappedArrayGetLevel)(&level, whole, 3));
  ASSERT_OK(CU(cuArray3DGetDescriptor)(&reported, level));
  EXPECT_EQ(reported.Width, 2u);
  EXPECT_EQ(reported.Height, 1u);
  EXPECT_EQ(CU(cuArrayDestroy)(level), CUDA_ERROR_INVALID_HANDLE) << "it is the mipmapped array's";
  EXPECT_OK(CU(cuMipmappedArrayGetLevel)(&level, whole, 4));
  EXPECT_EQ(CU(cuMipmappedArrayGetLevel)(&level, whole, 5), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(CU(cuMipmappedArrayDestroy)(whole));
  EXPECT_EQ(free_memory(), before);
  EXPECT_EQ(CU(cuArray3DGetDescriptor)(&reported, level), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(SoftcudaArray, TexturesAndSurfacesReportTheirResource) {
  const CUarray array = make(shape(8, 8, 0)), writable = make(shape(8, 8, 0, CUDA_ARRAY3D_SURFACE_LDST));
  CUDA_RESOURCE_DESC resource = resource_of(array), reported{};
  CUDA_TEXTURE_DESC how{};
  how.filterMode = CU_TR_FILTER_MODE_LINEAR;
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  ASSERT_OK(CU(cuTexObjectCreate)(&texture, &resource, &how, nullptr));
  ASSERT_OK(CU(cuTexObjectGetResourceDesc)(&reported, texture));
  EXPECT_EQ(reported.res.array.hArray, array);
  CUDA_TEXTURE_DESC reported_texture{};
  ASSERT_OK(CU(cuTexObjectGetTextureDesc)(&reported_texture, texture));
  EXPECT_EQ(reported_texture.filterMode, CU_TR_FILTER_MODE_LINEAR);
  EXPECT_EQ(CU(cuSurfObjectCreate)(&surface, &resource), CUDA_ERROR_INVALID_VALUE) << "not made for surfaces";
  resource = resource_of(writable);
  ASSERT_OK(CU(cuSurfObjectCreate)(&surface, &resource));
  EXPECT_OK(CU(cuSurfObjectDestroy)(surface));
  EXPECT_OK(CU(cuTexObjectDestroy)(texture));
  EXPECT_EQ(CU(cuTexObjectDestroy)(texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuArrayDestroy)(array));
  EXPECT_OK(CU(cuArrayDestroy)(writable));
}

TEST_F(SoftcudaArray, ATextureOfALineNeedsAllOfItAndItsAlignment) {
  const CUdeviceptr block = allocate(4096);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {block, CU_AD_FORMAT_FLOAT, 1, 4096};
  CUDA_TEXTURE_DESC how{};
  CUtexObject texture = 0;
  ASSERT_OK(CU(cuTexObjectCreate)(&texture, &resource, &how, nullptr));
  EXPECT_OK(CU(cuTexObjectDestroy)(texture));
  resource.res.linear.sizeInBytes = 4097;
  EXPECT_EQ(CU(cuTexObjectCreate)(&texture, &resource, &how, nullptr), CUDA_ERROR_INVALID_VALUE);
  resource.res.linear = {block + 4, CU_AD_FORMAT_FLOAT, 1, 64};
  EXPECT_EQ(CU(cuTexObjectCreate)(&texture, &resource, &how, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(CU(cuMemFree)(block));
}

}  // namespace
