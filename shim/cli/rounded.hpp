// Readable sizes and times.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <string>

// "357 MiB", "1.50 GiB".
std::string rounded_bytes(std::uint64_t bytes);
// "7.12 s", "340 ms".
std::string rounded_seconds(double seconds);
