// Variables of the environment that look like options but are none, as TESSERA_DEVICE_MEMROY.
//
// A variable that is misspelt is ignored by everything, so a user believes in a setting that is not made. The nearest
// right name is offered if it is near; other variables that begin with TESSERA_ belong to other programs and are left
// alone.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The one of `names` that `variable` was probably meant to be; "" if it is one of them, or near none.
std::string_view nearest_name(std::string_view variable, std::span<const std::string> names);

struct MisspeltVariable {
  std::string name;
  std::string nearest;
};
// Of an environment as `environ` has it: a list that ends with a null pointer, or is one.
std::vector<MisspeltVariable> misspelt_variables(const char* const* environment);

}  // namespace tessera
