// fuzz.h: validate, forward, translate the error.
#include "tessera/fuzz.h"

#include <string>

#include "api/call.hpp"
#include "lab/fuzz/fuzz.hpp"

extern "C" {

tessera_result tessera_fuzz_run(std::uint64_t seed, std::uint32_t operations, const char* kept, const char** json) {
  return tessera::api_call([&]() -> tessera::Status {
    if (json == nullptr) return tessera::null_argument("json");
    thread_local std::string text;
    std::vector<std::uint32_t> chosen;
    TESSERA_TRY_ASSIGN(chosen, tessera::parse_kept(kept == nullptr ? "" : kept, operations));
    tessera::FuzzResult result;
    TESSERA_TRY_ASSIGN(result, tessera::fuzz(seed, operations, chosen));
    text = tessera::fuzz_json(seed, operations, chosen, result);
    *json = text.c_str();
    return {};
  });
}

const char* tessera_fuzz_last_error(void) { return tessera::last_error_text(); }

}  // extern "C"
