#include "fio.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace tessera::bench {
namespace {

// Our buffers are in huge pages too; with small pages fio is half as fast on a virtual machine's disk.
constexpr const char* kHugePages = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1";

// The output of the command; empty if it fails.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");  // NOLINT: the command is made of numbers
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    text.append(buffer.data(), got);
  }
  return ::pclose(pipe) == 0 ? text : std::string();
}

}  // namespace

bool Fio::is_installed() { return !output_of("fio --version 2>/dev/null").empty(); }

Fio::Fio(SpillFile file, Bytes bytes, Bytes block, unsigned depth)
    : file_(std::move(file)), bytes_(bytes), block_(block), depth_(depth) {}

Result<double> Fio::run(const char* way) const {
  const std::string text = output_of(
      fmt::format("{} fio --name=spill --filename=/proc/{}/fd/{} --rw={} "
                  "--ioengine=io_uring --direct=1 --iodepth={} --bs={} "
                  "--size={} --loops={} --thread --fixedbufs --registerfiles "
                  "--allow_file_create=0 --output-format=json",
                  kHugePages, ::getpid(), file_.descriptor(), way, depth_, block_.value(), bytes_.value(), kPasses));
  const auto report = nlohmann::json::parse(text, nullptr, false);
  if (report.is_discarded() || !report.contains("jobs")) return Status(Code::kIo, "fio failed: " + text);
  const auto& done = report["jobs"][0][way];
  const double moved = done.value("io_bytes", 0.0), milliseconds = done.value("runtime", 0.0);
  if (moved != static_cast<double>((bytes_ * kPasses).value()) || milliseconds <= 0) {
    return Status(Code::kIo, fmt::format("fio moved {} bytes in {} ms", moved, milliseconds));
  }
  return milliseconds / 1e3 / kPasses;
}

}  // namespace tessera::bench
