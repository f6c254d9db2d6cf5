// Where the driver places addresses, and whether it follows a hint: low addresses look like integers.
#include <array>
#include <cstdio>

#include "gpu.hpp"

namespace first_light {
namespace {

constexpr std::size_t kTiB = std::size_t{1} << 40;
// Above it no address is a pair of small integers: the upper half of the word is large.
constexpr CUdeviceptr kHigh = CUdeviceptr{1} << 40;
constexpr CUdeviceptr kHints[] = {
    0, 0x400000000, 0x20000000000, 0x100000000000, 0x4d5e00000000, 0x6e5500000000, 0x7b0000000000};

std::string hex(CUdeviceptr address) {
  std::array<char, 24> text{};
  (void)std::snprintf(text.data(), text.size(), "0x%llx", address);
  return text.data();
}

Json reserve(std::size_t bytes, std::size_t alignment, CUdeviceptr hint, bool& followed) {
  CUdeviceptr at = 0;
  const Watch watch;
  const CUresult result = cuMemAddressReserve(&at, bytes, alignment, hint, 0);
  const double microseconds = 1e6 * watch.seconds();
  if (result != CUDA_SUCCESS) return outcome(result);
  followed = hint != 0 && at == hint;
  const Json found = {{"at", hex(at)},
                      {"as_hinted", followed},
                      {"aligned_as_asked", alignment == 0 || at % alignment == 0},
                      {"above_1_tib", at >= kHigh},
                      {"us", microseconds}};
  MUST(cuMemAddressFree(at, bytes));
  return found;
}

// The driver's other ways of allocating: where they place addresses when none is requested.
Json other_addresses() {
  CUdeviceptr plain = 0, pooled = 0, managed = 0;
  void* host = nullptr;
  Stream stream;
  const auto told = [](CUresult result, CUdeviceptr at) {
    return result == CUDA_SUCCESS ? Json(hex(at)) : outcome(result);
  };
  Json found = Json::object();
  const CUresult allocated = cuMemAlloc(&plain, 2 * kMiB);
  found["cuMemAlloc"] = told(allocated, plain);
  const CUresult from_pool = cuMemAllocAsync(&pooled, 2 * kMiB, stream);
  found["cuMemAllocAsync"] = told(from_pool, pooled);
  const CUresult as_managed = cuMemAllocManaged(&managed, 2 * kMiB, CU_MEM_ATTACH_GLOBAL);
  found["cuMemAllocManaged"] = told(as_managed, managed);
  const CUresult pinned = cuMemAllocHost(&host, 2 * kMiB);
  found["cuMemAllocHost"] = told(pinned, reinterpret_cast<CUdeviceptr>(host));
  if (pinned == CUDA_SUCCESS) (void)cuMemFreeHost(host);
  if (as_managed == CUDA_SUCCESS) (void)cuMemFree(managed);
  if (from_pool == CUDA_SUCCESS) (void)cuMemFreeAsync(pooled, stream);
  if (allocated == CUDA_SUCCESS) (void)cuMemFree(plain);
  stream.wait();
  return found;
}

Answer where_reservations_lie(const Settings&) {
  Gpu gpu;
  Answer answer;
  int asked = 0, followed = 0;
  for (const auto& [name, bytes] : {std::pair{"32 MiB", 32 * kMiB}, std::pair{"1 TiB", kTiB}}) {
    for (const CUdeviceptr hint : kHints) {
      bool as_hinted = false;
      answer.results[name][hint == 0 ? "no hint" : "hint " + hex(hint)] = reserve(bytes, 0, hint, as_hinted);
      asked += hint != 0;
      followed += as_hinted;
    }
    bool ignored = false;
    answer.results[name]["no hint, aligned to 1 GiB"] = reserve(bytes, 1024 * kMiB, 0, ignored);
  }
  answer.results["other_addresses"] = other_addresses();
  answer.results["hints_followed"] = followed;
  answer.results["hints"] = asked;
  answer.answer = followed == asked ? "yes" : "no";
  return answer;
}

}  // namespace

std::vector<Probe> address_probes() {
  return {{"where_reservations_lie", "does the driver reserve addresses where a hint says", where_reservations_lie}};
}

}  // namespace first_light
