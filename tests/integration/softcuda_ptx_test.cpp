// PTX on the software device: PTX with a host build is loaded, other text is not.
#include <string>

#include "softcuda_library.hpp"

namespace {

using softcuda_test::SoftwareDevice;

class SoftcudaPtx : public SoftwareDevice {
 protected:
  CUresult load(const std::string& text) { return CU(cuModuleLoadData)(&module_, text.c_str()); }

  CUmodule module_ = nullptr;
};

TEST_F(SoftcudaPtx, AnEntryWithAHostBuildBesideTheDriverIsThatBuild) {
  ASSERT_OK(load(".version 6.3\n.target sm_75\n.visible .entry tessera_fingerprint(\n"));
  CUfunction function = nullptr;
  EXPECT_OK(CU(cuModuleGetFunction)(&function, module_, "tessera_fingerprint"));
  EXPECT_EQ(CU(cuModuleGetFunction)(&function, module_, "another"), CUDA_ERROR_NOT_FOUND);
  EXPECT_OK(CU(cuModuleUnload)(module_));
}

TEST_F(SoftcudaPtx, OtherPtxHasNoBinary) {
  EXPECT_EQ(load("// a comment\n.visible .entry unknown_kernel(\n"), CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(load("// .entry ../softcuda/libcuda(\n"), CUDA_ERROR_NO_BINARY_FOR_GPU) << "a name is one word";
  EXPECT_EQ(load("// no entry at all, and long enough to be looked at as if it were an object file"),
            CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
