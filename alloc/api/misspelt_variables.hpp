// Environment variables that look like options but are not, such as TESSERA_DEVICE_MEMROY.
//
// A misspelt variable is ignored, so the user believes in a setting that was never made. The nearest valid name is
// offered if it is close; other variables that begin with TESSERA_ belong to other programs and are ignored.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct MisspeltVariable {
  std::string name;
  std::string nearest;
};
// `environment`: as `environ`, a list that ends with a null pointer, or null itself.
std::vector<MisspeltVariable> misspelt_variables(const char* const* environment);

}  // namespace tessera
