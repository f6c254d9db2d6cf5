// Which mappings are allowed: partial, double, at an offset; and which ranges accept access.
#include "gpu.hpp"

namespace first_light {
namespace {

Answer map_at_offset(const Settings&) {
  Gpu gpu;
  Frame frame(gpu, Place::kDevice, 2 * kPage);
  Window window(gpu, 2 * kPage);
  const CUresult result = cuMemMap(window.at(), kPage, kPage, frame.handle(), 0);
  if (result == CUDA_SUCCESS) (void)cuMemUnmap(window.at(), kPage);
  return yes_if(result == CUDA_SUCCESS, outcome(result));
}

Answer map_in_part(const Settings&) {
  Gpu gpu;
  Frame frame(gpu, Place::kDevice, 2 * kPage);
  Window window(gpu, 2 * kPage);
  const CUresult result = cuMemMap(window.at(), kPage, 0, frame.handle(), 0);
  if (result == CUDA_SUCCESS) (void)cuMemUnmap(window.at(), kPage);
  return yes_if(result == CUDA_SUCCESS, outcome(result));
}

Answer unmap_in_part(const Settings&) {
  Gpu gpu;
  Frame frame(gpu, Place::kDevice, 2 * kPage);
  Window window(gpu, 2 * kPage);
  window.mount(frame);
  const CUresult result = cuMemUnmap(window.at(kPage), kPage);
  return yes_if(result == CUDA_SUCCESS, outcome(result));
}

Answer map_over_mapped(const Settings&) {
  Gpu gpu;
  Frame first(gpu, Place::kDevice, kPage), second(gpu, Place::kHost, kPage);
  Window window(gpu, kPage);
  window.mount(first);
  const CUresult result = cuMemMap(window.at(), kPage, 0, second.handle(), 0);
  return yes_if(result == CUDA_SUCCESS, outcome(result));
}

Answer unmap_many_at_once(const Settings&) {
  Gpu gpu;
  Frame device(gpu, Place::kDevice, kPage), host(gpu, Place::kHost, kPage);
  Window window(gpu, 2 * kPage);
  window.mount(device);
  window.mount(host, kPage);
  const CUresult result = window.unmap(0, 2 * kPage);
  return yes_if(result == CUDA_SUCCESS, outcome(result));
}

// One frame at two addresses: data written through one is read through the other.
Answer two_addresses(const Settings&) {
  Gpu gpu;
  Words words(gpu);
  Stream stream;
  Json results = Json::object();
  bool all = true;
  for (const Place place : {Place::kDevice, Place::kHost}) {
    Frame frame(gpu, place, kPage);
    Window one(gpu, kPage), other(gpu, kPage);
    one.mount(frame);
    other.mount(frame);
    words.fill(one.at(), kPage, 5, stream);
    const bool same = words.sum(other.at(), kPage, stream) == Words::expected(kPage, 5);
    results[text(place)] = same;
    all = all && same;
  }
  return yes_if(all, results);
}

// A run of which some pages are cold: the residency engine makes one call for it.
Answer access_over_mixed_run(const Settings&) {
  Gpu gpu;
  Words words(gpu);
  Stream stream;
  Frame a(gpu, Place::kDevice, kPage), b(gpu, Place::kHost, kPage);
  Frame c(gpu, Place::kDevice, kPage), d(gpu, Place::kHost, kPage);
  Window window(gpu, 4 * kPage);
  std::size_t offset = 0;
  for (const Frame* frame : {&a, &b, &c, &d}) {
    must(window.map(*frame, offset), "cuMemMap");
    offset += kPage;
  }
  const CUresult opened = window.open(0, 4 * kPage);
  Json results = outcome(opened);
  if (opened != CUDA_SUCCESS) return yes_if(false, results);
  words.fill(window.at(), 4 * kPage, 9, stream);
  const bool same = words.sum(window.at(), 4 * kPage, stream) == Words::expected(4 * kPage, 9);
  results["contents_right"] = same;
  return yes_if(same, results);
}

Answer access_over_a_gap(const Settings&) {
  Gpu gpu;
  Frame first(gpu, Place::kDevice, kPage), last(gpu, Place::kDevice, kPage);
  Window window(gpu, 3 * kPage);
  must(window.map(first, 0), "cuMemMap");
  must(window.map(last, 2 * kPage), "cuMemMap");
  const CUresult result = window.open(0, 3 * kPage);
  return yes_if(result == CUDA_SUCCESS, outcome(result));
}

Answer access_again(const Settings&) {
  Gpu gpu;
  Frame frame(gpu, Place::kDevice, kPage);
  Window window(gpu, kPage);
  window.mount(frame);
  const CUresult result = window.open(0, kPage);
  return yes_if(result == CUDA_SUCCESS, outcome(result));
}

// The handle may be released first; the memory stays until it is unmapped.
Answer release_while_mapped(const Settings&) {
  Gpu gpu;
  Words words(gpu);
  Stream stream;
  const CUmemAllocationProp wanted = properties(gpu, Place::kDevice);
  CUmemGenericAllocationHandle handle = 0;
  MUST(cuMemCreate(&handle, kPage, &wanted, 0));
  Window window(gpu, kPage);
  MUST(cuMemMap(window.at(), kPage, 0, handle, 0));
  must(window.open(0, kPage), "cuMemSetAccess");
  MUST(cuMemRelease(handle));
  words.fill(window.at(), kPage, 3, stream);
  const bool same = words.sum(window.at(), kPage, stream) == Words::expected(kPage, 3);
  MUST(cuMemUnmap(window.at(), kPage));
  return yes_if(same);
}

// The CPU reads what the device wrote, in a page that is mapped for both.
Answer cpu_sees_host_frame(const Settings&) {
  Gpu gpu;
  Words words(gpu);
  Stream stream;
  Frame frame(gpu, Place::kHost, kPage);
  Window window(gpu, kPage);
  window.mount(frame);
  const CUresult opened = window.open_for_cpu(0, kPage);
  if (opened != CUDA_SUCCESS) return yes_if(false, outcome(opened));
  words.fill(window.at(), kPage, 7, stream);
  stream.wait();
  const auto* const seen = reinterpret_cast<const std::uint32_t*>(window.at());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kPage / 4; ++i) {
    wrong += seen[i] != (static_cast<std::uint32_t>(i) ^ 7U) * 2654435761U;
  }
  return yes_if(wrong == 0, {{"wrong_words", wrong}});
}

}  // namespace

std::vector<Probe> mapping_probes() {
  return {{"map_at_offset", "may a frame be mapped from an offset", map_at_offset},
          {"map_in_part", "may the first half of a frame be mapped", map_in_part},
          {"unmap_in_part", "may half of a mapping be unmapped", unmap_in_part},
          {"map_over_mapped", "may a mapped range be mapped again", map_over_mapped},
          {"unmap_many_at_once", "does one unmap take device and host mappings together", unmap_many_at_once},
          {"two_addresses", "is a frame the same at two addresses", two_addresses},
          {"access_over_mixed_run", "does one set access cover device and host frames", access_over_mixed_run},
          {"access_over_a_gap", "may a range with an unmapped page get access", access_over_a_gap},
          {"access_again", "may access be given twice", access_again},
          {"release_while_mapped", "may a mapped frame be released", release_while_mapped},
          {"cpu_sees_host_frame", "can the CPU read a host frame at the device's address", cpu_sees_host_frame}};
}

}  // namespace first_light
