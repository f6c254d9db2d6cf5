// Locations of the files of this build, found from the running executable.
//
// Build tree and install tree have the same layout: bin/tessera, lib/libtessera_preload.so, lib/softcuda/libcuda.so.1,
// lib/tessera/. So nothing depends on where it was configured.
//
// Thread safety: values.
#pragma once

#include <filesystem>

struct Installation {
  std::filesystem::path root;

  std::filesystem::path executable() const { return root / "bin" / "tessera"; }
  std::filesystem::path preload_library() const { return root / "lib" / "libtessera_preload.so"; }
  std::filesystem::path software_folder() const { return root / "lib" / "softcuda"; }
  std::filesystem::path software_driver() const { return software_folder() / "libcuda.so.1"; }
  std::filesystem::path program(const char* name) const { return root / "lib" / "tessera" / name; }
};

// Falls back to the current folder if /proc is not mounted.
Installation find_installation();
