// Hopper's bulk copies, which need no threads, and tensor cores fed by them, on host frames.
#include "gpu.hpp"

#include <cmath>

namespace first_light {
namespace {

constexpr unsigned kTile = 16384;
constexpr unsigned kTiles = kPage / kTile;

// A page in the memory under test, and a page on the device.
struct Pages {
  Pages(Gpu& gpu, Place place) : frame(gpu, place, kPage), window(gpu, kPage), device(kPage) { window.mount(frame); }
  Frame frame;
  Window window;
  PlainBlock device;
  Stream stream;
};

struct Copied {
  bool right = false;
  double microseconds = 0;
  Json json() const { return {{"right", right}, {"kernel_us", microseconds}}; }
};

// Runs and times one kernel that copies a page in tiles; `right` if the target has the source's contents.
template <class... Parameters>
Copied copied(Gpu& gpu, const char* kernel, const Pages& pages, CUdeviceptr to, CUdeviceptr from,
              Parameters... parameters) {
  Words words(gpu);
  const CUfunction function = gpu.device_only(kernel);
  Copied result;
  for (const std::uint32_t seed : {3U, 4U}) {
    MUST(cuMemsetD8Async(to, 0, kPage, pages.stream));
    words.fill(from, kPage, seed, pages.stream);
    Event started, ended;
    MUST(cuEventRecord(started, pages.stream));
    must(launch(function, kTiles, 128, pages.stream, parameters...), kernel);
    MUST(cuEventRecord(ended, pages.stream));
    result.right = words.sum(to, kPage, pages.stream) == Words::expected(kPage, seed);
    result.microseconds = 1e3 * ended.since(started);
    if (!result.right) break;
  }
  return result;
}

Answer both_places(Copied (*ask)(Gpu& gpu, Place place)) {
  Gpu gpu;
  const Copied device = ask(gpu, Place::kDevice);
  const Copied host = ask(gpu, Place::kHost);
  return yes_if(host.right, {{"host", host.json()}, {"device", device.json()}});
}

template <const char* const& kernel>
Answer load(const Settings&) {
  return both_places([](Gpu& gpu, Place place) {
    const Pages pages(gpu, place);
    const CUdeviceptr to = pages.device, from = pages.window.at();
    return copied(gpu, kernel, pages, to, from, to, from);
  });
}

constexpr const char* kBulkLoad = "bulk_load";
constexpr const char* kAsyncLoad = "async_load";
constexpr const char* kReadOnlyLoad = "read_only_load";

Answer bulk_store(const Settings&) {
  return both_places([](Gpu& gpu, Place place) {
    const Pages pages(gpu, place);
    const CUdeviceptr to = pages.window.at(), from = pages.device;
    return copied(gpu, "bulk_store", pages, to, from, to, from);
  });
}

// The page as a matrix of words, 64 per row, in boxes of 64 rows.
CUresult encode(CUtensorMap& map, CUdeviceptr at) {
  const cuuint64_t extent[] = {64, kPage / 256};
  const cuuint64_t stride[] = {256};
  const cuuint32_t box[] = {64, 64}, steps[] = {1, 1};
  return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, reinterpret_cast<void*>(at), extent, stride,
                                box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

CUtensorMap encoded(CUdeviceptr at) {
  CUtensorMap map{};
  must(encode(map, at), "cuTensorMapEncodeTiled");
  return map;
}

Answer tensor_load(const Settings&) {
  return both_places([](Gpu& gpu, Place place) {
    const Pages pages(gpu, place);
    const CUdeviceptr to = pages.device, from = pages.window.at();
    return copied(gpu, "tensor_load", pages, to, from, to, encoded(from));
  });
}

Answer tensor_store(const Settings&) {
  return both_places([](Gpu& gpu, Place place) {
    const Pages pages(gpu, place);
    const CUdeviceptr to = pages.window.at(), from = pages.device;
    return copied(gpu, "tensor_store", pages, to, from, from, encoded(to));
  });
}

// Encoded once, for the address; then other memory is mapped there.
Answer tensor_map_after_swap(const Settings&) {
  Gpu gpu;
  Pages pages(gpu, Place::kDevice);
  Frame host(gpu, Place::kHost, kPage);
  const CUdeviceptr to = pages.device, from = pages.window.at();
  const CUtensorMap map = encoded(from);
  const Copied before = copied(gpu, "tensor_load", pages, to, from, to, map);
  must(pages.window.unmap(0, kPage), "cuMemUnmap");
  CUtensorMap unmapped{};
  const CUresult encoded_unmapped = encode(unmapped, from);
  pages.window.mount(host);
  const Copied after = copied(gpu, "tensor_load", pages, to, from, to, map);
  return yes_if(
      after.right,
      {{"before", before.json()}, {"after", after.json()}, {"encode_while_unmapped", outcome(encoded_unmapped)}});
}

// What an interposer wants to know: is the address a plain word of the map?
Answer address_in_tensor_map(const Settings&) {
  Gpu gpu;
  const Pages pages(gpu, Place::kDevice);
  const CUtensorMap map = encoded(pages.window.at());
  Json at = Json::array();
  for (int word = 0; word < 16; ++word) {
    if (map.opaque[word] == pages.window.at()) at.push_back(word);
  }
  return yes_if(!at.empty(), {{"words", at}});
}

// Small integers, so that sums in any order are exact.
float left_value(int row, int k) { return static_cast<float>((row * 7 + k * 3) % 13 - 6); }
float right_value(int column, int k) { return static_cast<float>((column * 5 + k) % 11 - 5); }

// IEEE half of an integer below 2048.
std::uint16_t half(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<unsigned>(std::lround((fraction * 2 - 1) * 1024));
  return static_cast<std::uint16_t>((value < 0 ? 0x8000U : 0U) | static_cast<unsigned>(exponent + 14) << 10 | mantissa);
}

// Where the instruction expects a value: core matrices of 8 x 8, two of them along K.
std::size_t place_of(int row, int k) {
  return static_cast<std::size_t>(row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8);
}

std::vector<float> multiplied(Gpu& gpu, Place place) {
  const CUfunction kernel = gpu.device_only("multiply");
  const Pages pages(gpu, place);
  std::vector<std::uint16_t> operands(64 * 16 + 8 * 16);
  for (int k = 0; k < 16; ++k) {
    for (int row = 0; row < 64; ++row) operands[place_of(row, k)] = half(left_value(row, k));
    for (int column = 0; column < 8; ++column) {
      operands[64 * 16 + place_of(column, k)] = half(right_value(column, k));
    }
  }
  MUST(cuMemcpyHtoD(pages.window.at(), operands.data(), operands.size() * 2));
  must(launch(kernel, 1, 128, pages.stream, CUdeviceptr(pages.device), pages.window.at(), pages.window.at(64 * 16 * 2)),
       "multiply");
  pages.stream.wait();
  std::vector<float> out(64 * 8);
  MUST(cuMemcpyDtoH(out.data(), pages.device, out.size() * sizeof(float)));
  return out;
}

int wrong_products(const std::vector<float>& out) {
  int wrong = 0;
  for (int thread = 0; thread < 128; ++thread) {
    for (int i = 0; i < 4; ++i) {
      const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 * 8;
      const int column = thread % 4 * 2 + i % 2;
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += left_value(row, k) * right_value(column, k);
      wrong += out[static_cast<std::size_t>(thread * 4 + i)] != sum;
    }
  }
  return wrong;
}

Answer wgmma_operands(const Settings&) {
  Gpu gpu;
  const std::vector<float> device = multiplied(gpu, Place::kDevice);
  const std::vector<float> host = multiplied(gpu, Place::kHost);
  return yes_if(device == host && wrong_products(host) == 0, {{"host_equals_device", device == host},
                                                              {"wrong_on_device", wrong_products(device)},
                                                              {"wrong_on_host", wrong_products(host)}});
}

}  // namespace

std::vector<Probe> bulk_copy_probes() {
  return {{"bulk_load", "does cp.async.bulk read host frames", load<kBulkLoad>},
          {"bulk_store", "does cp.async.bulk write host frames", bulk_store},
          {"async_load", "does cp.async read host frames", load<kAsyncLoad>},
          {"read_only_load", "does ld.global.nc read host frames", load<kReadOnlyLoad>},
          {"tensor_load", "does TMA read host frames", tensor_load},
          {"tensor_store", "does TMA write host frames", tensor_store},
          {"tensor_map_after_swap", "does a tensor map outlive a swap", tensor_map_after_swap},
          {"address_in_tensor_map", "is the address a plain word of a tensor map", address_in_tensor_map},
          {"wgmma_operands", "are WGMMA operands from host frames right", wgmma_operands}};
}

}  // namespace first_light
