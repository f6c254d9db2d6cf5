// How programs look up entry points: by exported name, and by name and version.
#include "softcuda_library.hpp"

namespace {

struct Answer {
  CUresult result;
  void* function;
  CUdriverProcAddressQueryResult status;
};

Answer ask(const char* name, int version, cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT) {
  Answer answer{};
  answer.result = CU(cuGetProcAddress)(name, &answer.function, version, flags, &answer.status);
  return answer;
}

void* exported(const char* name) {
  void* const found = softcuda_test::symbol(name);
  EXPECT_NE(found, nullptr) << name;
  return found;
}

TEST(SoftcudaResolution, GivesTheNewestAbiThatTheVersionKnew) {
  EXPECT_EQ(ask("cuMemAlloc", 13000).function, exported("cuMemAlloc_v2"));
  EXPECT_EQ(ask("cuMemAlloc", 3020).function, exported("cuMemAlloc_v2"));
  EXPECT_EQ(ask("cuMemAlloc", 3010).function, exported("cuMemAlloc"));
  EXPECT_EQ(ask("cuCtxCreate", 13000).function, exported("cuCtxCreate_v4"));
  EXPECT_EQ(ask("cuCtxCreate", 12040).function, exported("cuCtxCreate_v3"));
  EXPECT_EQ(ask("cuCtxCreate", 11030).function, exported("cuCtxCreate_v2"));
  EXPECT_EQ(ask("cuGetProcAddress", 12000).function, exported("cuGetProcAddress_v2"));
  EXPECT_EQ(ask("cuGetProcAddress", 11080).function, exported("cuGetProcAddress"));
}

TEST(SoftcudaResolution, TakesTheAbiNameItself) {
  EXPECT_EQ(ask("cuMemFree_v2", 13000).function, exported("cuMemFree_v2"));
}

TEST(SoftcudaResolution, PrefersThePerThreadSpellingOnlyWhenAsked) {
  EXPECT_EQ(ask("cuMemcpyHtoD", 12000).function, exported("cuMemcpyHtoD_v2"));
  EXPECT_EQ(ask("cuMemcpyHtoD", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function,
            exported("cuMemcpyHtoD_v2_ptds"));
  EXPECT_EQ(ask("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function,
            exported("cuLaunchKernel_ptsz"));
  EXPECT_EQ(ask("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM).function, exported("cuLaunchKernel"));
  // A function without a per-thread variant is returned as it is.
  EXPECT_EQ(ask("cuMemAlloc", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function,
            exported("cuMemAlloc_v2"));
}

TEST(SoftcudaResolution, ReportsWhyThereIsNoFunction) {
  const Answer unknown = ask("cuMemConjure", 13000);
  EXPECT_EQ(unknown.result, CUDA_SUCCESS);
  EXPECT_EQ(unknown.function, nullptr);
  EXPECT_EQ(unknown.status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);

  const Answer early = ask("cuMemAddressReserve", 10010);
  EXPECT_EQ(early.result, CUDA_SUCCESS);
  EXPECT_EQ(early.function, nullptr);
  EXPECT_EQ(early.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);

  EXPECT_EQ(ask("cuMemAlloc", 13000).status, CU_GET_PROC_ADDRESS_SUCCESS);
  int newest = 0;
  EXPECT_OK(CU(cuDriverGetVersion)(&newest));
  EXPECT_EQ(ask("cuMemAlloc", newest).status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(ask("cuMemAlloc", newest + 10).result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask(nullptr, 13000).result, CUDA_ERROR_INVALID_VALUE);
}

TEST(SoftcudaResolution, TheOldSpellingAnswersNotFound) {
  using OldLookup = CUresult (*)(const char*, void**, int, cuuint64_t);
  const auto lookup = reinterpret_cast<OldLookup>(exported("cuGetProcAddress"));
  void* function = nullptr;
  EXPECT_EQ(lookup("cuMemConjure", &function, 11030, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(lookup("cuMemFree", &function, 11030, 0), CUDA_SUCCESS);
  EXPECT_EQ(function, exported("cuMemFree_v2"));
}

TEST(SoftcudaResolution, RefusesUnsupportedDocumentedEntryPoints) {
  EXPECT_EQ(CU(cuGraphicsUnregisterResource)(nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CU(cuDestroyExternalMemory)(nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(ask("cuGraphLaunch", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function, nullptr);
}

TEST(SoftcudaResolution, HasNoPrivateTables) {
  const void* table = &table;
  const CUuuid id = {};
  EXPECT_EQ(CU(cuGetExportTable)(&table, &id), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(table, nullptr);
}

TEST(SoftcudaResolution, NamesEveryError) {
  const char* name = nullptr;
  EXPECT_EQ(CU(cuGetErrorName)(CUDA_ERROR_OUT_OF_MEMORY, &name), CUDA_SUCCESS);
  EXPECT_STREQ(name, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(CU(cuGetErrorString)(CUDA_ERROR_OUT_OF_MEMORY, &name), CUDA_SUCCESS);
  EXPECT_STREQ(name, "out of memory");
  EXPECT_EQ(CU(cuGetErrorName)(static_cast<CUresult>(998), &name), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
