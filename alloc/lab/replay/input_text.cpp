#include "lab/replay/input_text.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "lab/replay/packed_text.hpp"
#include "lab/replay/text_kind.hpp"

namespace tessera {
namespace {

Status in_file(const std::string& path, const Status& status) {
  return Status(status.code(), fmt::format("{}: {}", path, status.message()));
}
Status unreadable() { return Status(Code::kIo, std::strerror(errno)); }

Result<std::string> all_of(int file) {
  std::string data;
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (;;) {
    const std::size_t had = data.size();
    if (had > kMaxUnpacked.value()) return Status(Code::kInvalidArgument, "larger than the limit of a trace");
    data.resize(had + kPiece);
    const ssize_t got = ::read(file, data.data() + had, kPiece);
    data.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) return data;
    if (got < 0 && errno != EINTR) return unreadable();
  }
}

Result<std::string> data_of(const std::string& path) {
  if (path == "-") return all_of(STDIN_FILENO);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return unreadable();
  auto data = all_of(file);
  ::close(file);
  return data;
}

Result<InputText> text_of(std::string data) {
  if (data.empty()) return Status(Code::kInvalidArgument, "the file is empty");
  InputText input;
  if (const Packing packing = packing_of(data); packing != Packing::kNone) {
    UnpackedText plain;
    TESSERA_TRY_ASSIGN(plain, unpack(data, packing));
    if (plain.cut) input.notes.push_back("the compressed file is truncated; using the part that is there");
    data = std::move(plain.text);
    if (data.empty()) return Status(Code::kInvalidArgument, "the compressed file is empty");
  }
  const std::string other = name_of_other_kind(data);
  if (!other.empty()) return Status(Code::kInvalidArgument, fmt::format("this is {}", other));
  input.text = as_utf8(std::move(data));
  return input;
}

}  // namespace

Result<InputText> read_input(const std::string& path) {
  Result<std::string> data = data_of(path);
  if (!data.is_ok()) return in_file(path, data.status());
  Result<InputText> input = text_of(std::move(data.value()));
  if (!input.is_ok()) return in_file(path, input.status());
  for (std::string& note : input.value().notes) note = fmt::format("{}: {}", path, note);
  return input;
}

}  // namespace tessera
