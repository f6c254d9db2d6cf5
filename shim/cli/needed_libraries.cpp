#include "needed_libraries.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

namespace {

constexpr std::size_t kMostEntries = 4096;  // in any table of a plausible file

class ElfFile {
 public:
  explicit ElfFile(const std::filesystem::path& path) : file_(path, std::ios::binary) {
    Elf64_Ehdr header{};
    if (!read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
      return;
    }
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part{};
      if (!read(header.e_phoff + i * sizeof(part), part)) break;
      parts_.push_back(part);
    }
  }

  std::vector<std::string> needed() {
    std::vector<Elf64_Xword> names;
    Elf64_Addr table = 0;
    for (const Elf64_Phdr& part : parts_) {
      if (part.p_type != PT_DYNAMIC) continue;
      for (std::size_t i = 0; i < kMostEntries; ++i) {
        Elf64_Dyn entry{};
        if (!read(part.p_offset + i * sizeof(entry), entry) || entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
        if (entry.d_tag == DT_STRTAB) table = entry.d_un.d_ptr;
      }
    }
    std::vector<std::string> found;
    for (const Elf64_Xword name : names) found.push_back(text_at(offset_of(table) + name));
    return found;
  }

 private:
  template <class Record>
  bool read(std::uint64_t offset, Record& record) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(&record), sizeof(record)));
  }

  std::string text_at(std::uint64_t offset) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    std::string text;
    for (char next = 0; text.size() < kMostEntries && file_.get(next) && next != '\0';) text += next;
    return text;
  }

  // The file offset that `address` will be loaded from.
  std::uint64_t offset_of(Elf64_Addr address) const {
    for (const Elf64_Phdr& part : parts_) {
      const bool inside = address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz;
      if (part.p_type == PT_LOAD && inside) return part.p_offset + (address - part.p_vaddr);
    }
    return 0;
  }

  std::ifstream file_;
  std::vector<Elf64_Phdr> parts_;
};

}  // namespace

std::vector<std::string> needed_libraries(const std::filesystem::path& program) { return ElfFile(program).needed(); }

bool is_32_bit(const std::filesystem::path& program) {
  std::ifstream file(program, std::ios::binary);
  Elf32_Ehdr header{};
  return file.read(reinterpret_cast<char*>(&header), sizeof(header)) &&
         std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS32 &&
         header.e_machine == EM_386;
}

bool needs_musl(const std::vector<std::string>& needed) {
  return std::ranges::any_of(needed, [](const std::string& library) {
    const std::string name = std::filesystem::path(library).filename().string();
    return name == "libc.so" || name.starts_with("libc.musl");
  });
}

std::filesystem::path find_program(const std::string& name, const std::string& search) {
  if (name.find('/') != std::string::npos) return name;
  std::istringstream folders(search);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path file = std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}
