// CUresult: conversion from Status, and documented names.
#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>

#include "call.hpp"

namespace tessera::softcuda {
namespace {

struct ErrorName {
  int code;
  const char* name;
};
constexpr ErrorName kErrorNames[] = {
#include "error_names.inc"
};

const char* find_name(CUresult error) {
  const auto* const found =
      std::find_if(std::begin(kErrorNames), std::end(kErrorNames), [&](const ErrorName& e) { return e.code == error; });
  return found == std::end(kErrorNames) ? nullptr : found->name;
}

// Errors whose description differs from their name.
constexpr ErrorName kOtherWords[] = {
    {CUDA_SUCCESS, "no error"},
    {CUDA_ERROR_INVALID_VALUE, "invalid argument"},
    {CUDA_ERROR_NOT_INITIALIZED, "initialization error"},
    {CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "invalid device context"},
    {CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"},
    {CUDA_ERROR_NOT_SUPPORTED, "operation not supported"},
};

// "CUDA_ERROR_OUT_OF_MEMORY" becomes "out of memory". Built once, so that the pointers stay valid.
std::map<int, std::string> make_descriptions() {
  std::map<int, std::string> all;
  for (const auto& [code, name] : kErrorNames) {
    std::string text = name;
    constexpr std::string_view kPrefix = "CUDA_ERROR_";
    if (text.starts_with(kPrefix)) text = text.substr(kPrefix.size());
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c == '_' ? ' ' : static_cast<char>(std::tolower(c)); });
    all[code] = text;
  }
  for (const auto& [code, words] : kOtherWords) all[code] = words;
  return all;
}

}  // namespace

CUresult to_result(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return CUDA_SUCCESS;
    case Code::kInvalidArgument: return CUDA_ERROR_INVALID_VALUE;
    case Code::kNotFound: return CUDA_ERROR_INVALID_HANDLE;
    case Code::kOutOfMemory: return CUDA_ERROR_OUT_OF_MEMORY;
    case Code::kNotReady: return CUDA_ERROR_NOT_READY;
    case Code::kNotSupported: return CUDA_ERROR_NOT_SUPPORTED;
    case Code::kDriver: return static_cast<CUresult>(status.native_code());
    case Code::kBusy:
    case Code::kIo:
    case Code::kDataLoss:
    case Code::kInternal: return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_ERROR_UNKNOWN;
}

bool sticks(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_ILLEGAL_INSTRUCTION ||
         result == CUDA_ERROR_MISALIGNED_ADDRESS || result == CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace tessera::softcuda

using namespace tessera::softcuda;  // NOLINT: the entry points below are C

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (Machine::has_ended()) return CUDA_ERROR_DEINITIALIZED;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = find_name(error);
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (Machine::has_ended()) return CUDA_ERROR_DEINITIALIZED;
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  static const auto* const descriptions = new std::map<int, std::string>(make_descriptions());
  const auto found = descriptions->find(error);
  *text = found == descriptions->end() ? nullptr : found->second.c_str();
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
