#include "probe.hpp"

#include <algorithm>

namespace first_light {

void must(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) throw Failure{call, result};
}

std::string name_of(CUresult code) {
  const char* name = nullptr;
  if (cuGetErrorName(code, &name) != CUDA_SUCCESS || name == nullptr) return "unknown error";
  return name;
}

Json outcome(CUresult code) { return {{"code", static_cast<int>(code)}, {"error", name_of(code)}}; }

Json spread(std::vector<double> values) {
  if (values.empty()) return {{"count", 0}};
  std::sort(values.begin(), values.end());
  return {{"median", values[values.size() / 2]},
          {"least", values.front()},
          {"most", values.back()},
          {"count", values.size()}};
}

}  // namespace first_light
