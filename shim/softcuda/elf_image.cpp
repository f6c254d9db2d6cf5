#include "elf_image.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/core.h>

#include "base/descriptor.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#else
constexpr Elf64_Half kMachine = EM_AARCH64;
#endif

Status refused(CUresult code, const char* why) {
  return Status(Code::kDriver, fmt::format("kernel object: {}", why), code);
}

// Names are never reused: the linker identifies objects by name, and never forgets objects with process-unique symbols
// (which gcc generates for some templates). Additional slashes or "./" in a path lead to the same file.
std::string unused_name(int file) {
  static std::atomic<std::uint64_t> names{1};
  std::string name = "/proc/self/fd/";
  for (std::uint64_t number = names.fetch_add(1); number != 0; number /= 2) {
    name += number % 2 != 0 ? "//" : "./";
  }
  return name + std::to_string(file);
}

// The contents of an object's memory file.
class Image {
 public:
  explicit Image(const ElfObject& object) {
    struct stat file {};
    if (::fstat(object.file, &file) != 0 || file.st_size <= 0) return;
    size_ = static_cast<std::uint64_t>(file.st_size);
    void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, object.file, 0);
    if (mapped != MAP_FAILED) begin_ = static_cast<const char*>(mapped);
  }
  ~Image() {
    if (begin_ != nullptr) ::munmap(const_cast<char*>(begin_), size_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  std::string_view bytes() const { return begin_ != nullptr ? std::string_view(begin_, size_) : ""; }
  // The `index`th Item of a table at `offset`; zeros if it is outside the image.
  template <class Item>
  Item item(std::uint64_t offset, std::uint64_t index) const {
    Item item{};
    const std::uint64_t size = bytes().size();
    const bool inside = offset <= size && index < (size - offset) / sizeof(Item);
    if (inside) std::memcpy(&item, begin_ + offset + index * sizeof(Item), sizeof(Item));
    return item;
  }
  // The zero-terminated text at `offset`.
  std::string_view text(std::uint64_t offset) const {
    const std::string_view rest = bytes().substr(std::min<std::uint64_t>(offset, bytes().size()));
    return rest.substr(0, rest.find('\0'));
  }

 private:
  const char* begin_ = nullptr;
  std::uint64_t size_ = 0;
};

bool write_all(int file, const void* bytes, std::size_t count) {
  const char* at = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(file, at, count);
    if (written <= 0) return false;
    at += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

Result<Bytes> elf_length(const void* image) {
  Elf64_Ehdr header;
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) {
    return refused(CUDA_ERROR_INVALID_IMAGE, "the software device loads only host ELF objects");
  }
  std::memcpy(&header, image, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine || header.e_type != ET_DYN) {
    return refused(CUDA_ERROR_NO_BINARY_FOR_GPU, "it is not a shared object of this machine");
  }
  std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, static_cast<const char*>(image) + header.e_phoff + i * sizeof(segment), sizeof(segment));
    end = std::max(end, segment.p_offset + segment.p_filesz);
  }
  return Bytes(end);
}

Result<ElfObject> open_elf(const void* image, Bytes bytes) {
  const int file = away_from_standard(::memfd_create("kernels", MFD_CLOEXEC));
  if (file < 0) return Status(Code::kOutOfMemory, "cannot create a memory file for a kernel object");
  void* handle = nullptr;
  if (write_all(file, image, bytes.value())) {
    handle = ::dlopen(unused_name(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle != nullptr) return ElfObject{handle, file};
  ::close(file);
  const char* const why = ::dlerror();
  return refused(CUDA_ERROR_INVALID_IMAGE, why == nullptr ? "it cannot be copied" : why);
}

Result<ElfObject> open_again(const ElfObject& object) {
  const Image image(object);
  return open_elf(image.bytes().data(), Bytes(image.bytes().size()));
}

std::vector<std::string> exported_names(const ElfObject& object, std::string_view prefix) {
  const Image image(object);
  const auto header = image.item<Elf64_Ehdr>(0, 0);
  std::vector<std::string> names;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = image.item<Elf64_Shdr>(header.e_shoff, i);
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto text = image.item<Elf64_Shdr>(header.e_shoff, section.sh_link);
    for (std::uint64_t k = 1; k < section.sh_size / sizeof(Elf64_Sym); ++k) {
      const auto symbol = image.item<Elf64_Sym>(section.sh_offset, k);
      const std::string_view name = image.text(text.sh_offset + symbol.st_name);
      const bool defined = symbol.st_shndx != SHN_UNDEF;
      if (defined && name.starts_with(prefix)) names.emplace_back(name.substr(prefix.size()));
    }
  }
  return names;
}

void close_elf(const ElfObject& object) {
  ::dlclose(object.handle);
  ::close(object.file);
}

}  // namespace tessera::softcuda
