// String comparison that calls no other function.
//
// Why: our dlsym runs while sanitizers and other interposers are still initialising. The C library's string functions
// may be intercepted by them before they are ready.
//
// Thread safety: pure functions.
#pragma once

namespace tessera::preload {

constexpr bool same_text(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

constexpr bool begins_with(const char* text, const char* prefix) {
  for (; *prefix != '\0'; ++text, ++prefix) {
    if (*text != *prefix) return false;
  }
  return true;
}

// The part after the last slash.
constexpr const char* file_name(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

}  // namespace tessera::preload
