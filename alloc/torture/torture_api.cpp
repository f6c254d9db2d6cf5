// torture.h: validate, forward, translate the error.
#include "tessera/torture.h"

#include <string>

#include "api/call.hpp"
#include "torture/torture.hpp"

extern "C" {

tessera_result tessera_torture_run(std::uint64_t seed, std::uint32_t operations, const char* kept,
                                   const char** json) {
  return tessera::api_call([&]() -> tessera::Status {
    if (json == nullptr) return tessera::null_argument("json");
    thread_local std::string text;
    std::vector<std::uint32_t> chosen;
    TESSERA_TRY_ASSIGN(chosen, tessera::parse_kept(kept == nullptr ? "" : kept, operations));
    tessera::TortureResult result;
    TESSERA_TRY_ASSIGN(result, tessera::torture(seed, operations, chosen));
    text = tessera::torture_json(seed, operations, chosen, result);
    *json = text.c_str();
    return {};
  });
}

const char* tessera_torture_last_error(void) { return tessera::last_error_text(); }

}  // extern "C"
