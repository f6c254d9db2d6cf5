// A field of a file of comma-separated values: quoted where it has to be.
//
// Thread safety: stateless.
#pragma once

#include <string>

std::string csv_field(std::string text);
