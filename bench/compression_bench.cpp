// Whether compressing the data in the spill file would pay: codec speeds and ratios compared with the disk's own rates.
//
// One 2 MiB page at a time on one thread, as the pump would do it. `write` and `read` are the rates that the file tier
// would reach if compression and disk transfers overlapped perfectly: the slower of the two, in uncompressed bytes.
// Compression pays if both are above 1, or if space is short. The codecs are zstd at its fastest levels, and LZ4 where
// liblz4.so.1 is installed.
//
//   compression_bench [--smoke] [--json]

#include <dlfcn.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "must.hpp"
#include "program.hpp"
#include "raw_file.hpp"
#include "tier/spill_file.hpp"
#include "timing.hpp"

namespace tessera::bench {
namespace {

constexpr Bytes kPage = 2_MiB;
constexpr Bytes kChunk = 1_MiB;
constexpr unsigned kDepth = 32;

using Data = std::vector<std::byte>;

// ---- what a training program's memory holds -----------------------------------------------------

template <class Value, class Draw>
Data filled(Bytes bytes, Draw draw) {
  Data data(bytes.value());
  for (std::size_t at = 0; at < data.size(); at += sizeof(Value)) {
    const Value value = draw();
    std::memcpy(data.data() + at, &value, sizeof(Value));
  }
  return data;
}

std::uint16_t bfloat_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct Kind {
  const char* name;
  std::function<Data(Bytes)> make;
};

std::vector<Kind> kinds() {
  auto random = std::make_shared<std::mt19937_64>(1);
  const auto normal = [random](float deviation) { return std::normal_distribution<float>(0, deviation)(*random); };
  return {{"float32 weights", [=](Bytes bytes) { return filled<float>(bytes, [&] { return normal(0.02F); }); }},
          {"bfloat16 weights",
           [=](Bytes bytes) { return filled<std::uint16_t>(bytes, [&] { return bfloat_of(normal(0.02F)); }); }},
          {"float32 Adam, second moment",
           [=](Bytes bytes) { return filled<float>(bytes, [&] { return std::pow(normal(1e-4F), 2.0F); }); }},
          {"float32 activations, behind ReLU",
           [=](Bytes bytes) { return filled<float>(bytes, [&] { return std::max(0.0F, normal(1)); }); }},
          {"bfloat16 activations, behind GELU",
           [=](Bytes bytes) {
             return filled<std::uint16_t>(bytes, [&] {
               const float x = normal(1);
               return bfloat_of(0.5F * x * (1 + std::erf(x / std::sqrt(2.0F))));
             });
           }},
          {"dropout mask, a byte each",
           [=](Bytes bytes) {
             return filled<std::uint8_t>(bytes, [&] { return static_cast<std::uint8_t>((*random)() % 10 != 0); });
           }},
          {"all zero", [](Bytes bytes) { return Data(bytes.value()); }}};
}

// ---- codecs -------------------------------------------------------------------------------------

struct Codec {
  std::string name;
  std::size_t bound;  // largest compressed size of a page
  std::function<std::size_t(const std::byte* from, std::byte* to)> compress;
  std::function<bool(const std::byte* from, std::size_t bytes, std::byte* to)> expand;
};

Codec zstd(int level) {
  const std::size_t bound = ZSTD_compressBound(kPage.value());
  return {fmt::format("zstd {}", level), bound,
          [=](const std::byte* from, std::byte* to) { return ZSTD_compress(to, bound, from, kPage.value(), level); },
          [](const std::byte* from, std::size_t bytes, std::byte* to) {
            return ZSTD_decompress(to, kPage.value(), from, bytes) == kPage.value();
          }};
}

// The documented interface of LZ4, loaded at run time: it is not a dependency.
std::optional<Codec> lz4() {
  void* const library = ::dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  const auto bound_of = reinterpret_cast<int (*)(int)>(::dlsym(library, "LZ4_compressBound"));
  const auto compress =
      reinterpret_cast<int (*)(const char*, char*, int, int)>(::dlsym(library, "LZ4_compress_default"));
  const auto expand = reinterpret_cast<int (*)(const char*, char*, int, int)>(::dlsym(library, "LZ4_decompress_safe"));
  if (bound_of == nullptr || compress == nullptr || expand == nullptr) return std::nullopt;
  const int page = static_cast<int>(kPage.value());
  const int bound = bound_of(page);
  return Codec{"lz4", static_cast<std::size_t>(bound),
               [=](const std::byte* from, std::byte* to) {
                 return static_cast<std::size_t>(
                     compress(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to), page, bound));
               },
               [=](const std::byte* from, std::size_t bytes, std::byte* to) {
                 return expand(reinterpret_cast<const char*>(from), reinterpret_cast<char*>(to),
                               static_cast<int>(bytes), page) == page;
               }};
}

// ---- measuring ----------------------------------------------------------------------------------

struct Rates {
  double write = 0, read = 0;  // bytes per second
};

// The rates of the disk alone: the limit of the file tier without compression.
Rates rates_of_disk(const std::string& directory, Bytes total, int rounds) {
  RawFile raw(must(make_spill_file(directory, total)), kChunk, kDepth);
  void* const host = std::aligned_alloc(kPage.value(), total.value());
  must(host != nullptr, "no memory");
  std::memset(host, 1, total.value());
  std::vector<double> writes, reads;
  for (int round = 0; round <= rounds; ++round) {
    writes.push_back(seconds([&] { must(raw.write(host, total), "the raw write failed"); }));
    reads.push_back(seconds([&] { must(raw.read(host, total), "the raw read failed"); }));
  }
  std::free(host);
  const auto bytes = static_cast<double>(total.value());
  return {bytes / median(writes), bytes / median(reads)};
}

struct Row {
  std::string data, codec;
  double left = 0;  // compressed size of one byte
  Rates codec_rates, effective;
};

Row measure(const Kind& kind, const Codec& codec, const Rates& disk, Bytes total, int rounds) {
  const Data data = kind.make(total);
  Data packed(codec.bound), back(kPage.value());
  std::vector<double> compressing, expanding;
  std::size_t left = 0;
  for (int round = 0; round < rounds; ++round) {
    double in = 0, out = 0;
    left = 0;
    for (std::size_t at = 0; at < data.size(); at += kPage.value()) {
      std::size_t bytes = 0;
      out += seconds([&] { bytes = codec.compress(data.data() + at, packed.data()); });
      bool whole = false;
      in += seconds([&] { whole = codec.expand(packed.data(), bytes, back.data()); });
      must(whole && std::equal(back.begin(), back.end(), data.data() + at), "the bytes read back differ");
      left += bytes;
    }
    compressing.push_back(out);
    expanding.push_back(in);
  }
  const auto bytes = static_cast<double>(data.size());
  Row row{kind.name,
          codec.name,
          static_cast<double>(left) / bytes,
          {bytes / median(compressing), bytes / median(expanding)},
          {}};
  row.effective = {std::min(row.codec_rates.write, disk.write / row.left),
                   std::min(row.codec_rates.read, disk.read / row.left)};
  return row;
}

std::optional<Results> run(bool smoke) {
  const Bytes total = smoke ? kPage : 32_MiB;
  const int rounds = smoke ? 1 : 3;
  const Rates disk = rates_of_disk("/var/tmp", smoke ? kPage : 256_MiB, smoke ? 1 : 9);
  std::vector<Codec> codecs = {zstd(-5), zstd(1)};
  if (auto found = lz4()) codecs.insert(codecs.begin(), std::move(*found));
  std::vector<Row> rows;
  for (const Kind& kind : kinds()) {
    for (const Codec& codec : codecs) rows.push_back(measure(kind, codec, disk, total, rounds));
  }
  Results results;
  for (const Row& row : rows) {
    results.json["results"].push_back({{"data", row.data},
                                       {"codec", row.codec},
                                       {"left", row.left},
                                       {"compress, bytes per second", row.codec_rates.write},
                                       {"expand, bytes per second", row.codec_rates.read},
                                       {"disk, write", disk.write},
                                       {"disk, read", disk.read},
                                       {"write over disk", row.effective.write / disk.write},
                                       {"read over disk", row.effective.read / disk.read}});
  }
  results.print = [rows, disk] {
    fmt::print("\nthe disk alone: {:.0f} MB/s to write, {:.0f} to read\n", disk.write / 1e6, disk.read / 1e6);
    fmt::print("{:<36}{:<10}{:>8}{:>12}{:>12}{:>12}{:>12}\n", "data", "codec", "left", "MB/s out", "MB/s in",
               "write/disk", "read/disk");
    for (const Row& row : rows) {
      fmt::print("{:<36}{:<10}{:>8.3f}{:>12.0f}{:>12.0f}{:>12.2f}{:>12.2f}\n", row.data, row.codec, row.left,
                 row.codec_rates.write / 1e6, row.codec_rates.read / 1e6, row.effective.write / disk.write,
                 row.effective.read / disk.read);
    }
  };
  return results;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(argc, argv,
                                     {"Compression of spilled pages, compared with the disk",
                                      "one page only: a smoke test", TESSERA_BENCH_BUILD_DIR, "/var/tmp"},
                                     tessera::bench::run);
}
