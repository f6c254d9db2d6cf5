// A host ELF shared object in memory, opened by the dynamic linker.
//
// Thread safety: stateless; dlopen locks for itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera::softcuda {

// The length of the ELF file at `image`, computed from its headers: the API passes no length. Errors: kDriver with
// native code 200 (not an ELF file) or 209 (another machine type).
Result<Bytes> elf_length(const void* image);

// A loaded copy of an image. Its memory file stays open until close_elf().
struct ElfObject {
  void* handle = nullptr;  // for dlsym
  int file = -1;
};

Result<ElfObject> open_elf(const void* image, Bytes bytes);
// Loads another copy of the same image.
Result<ElfObject> open_again(const ElfObject& object);
// The exported symbols that begin with `prefix`, without the prefix, in file order. Empty if the section headers were
// stripped.
std::vector<std::string> exported_names(const ElfObject& object, std::string_view prefix);
void close_elf(const ElfObject& object);

}  // namespace tessera::softcuda
