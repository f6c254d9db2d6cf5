#include "planning/run_class.hpp"

#include <array>

namespace tessera {
namespace {

struct Word {
  std::string_view word;
  RunClass kind;
};

// The tags of bench/traces, and common names for the same things.
constexpr std::array kWords = {
    Word{"weight", RunClass::kWeight},
    Word{"weights", RunClass::kWeight},
    Word{"parameter", RunClass::kWeight},
    Word{"expert", RunClass::kWeight},
    Word{"optimizer", RunClass::kOptimizer},
    Word{"gradient", RunClass::kGradient},
    Word{"weight-gradient", RunClass::kGradient},
    Word{"activation", RunClass::kActivation},
    Word{"feature-map", RunClass::kActivation},
    Word{"saved", RunClass::kActivation},
    Word{"loss", RunClass::kActivation},
    Word{"input", RunClass::kInput},
    Word{"kv", RunClass::kKvCache},
    Word{"kv-cache", RunClass::kKvCache},
    Word{"kv_cache", RunClass::kKvCache},
};

}  // namespace

RunClass class_of_word(std::string_view word) {
  for (const Word& known : kWords) {
    if (known.word == word) return known.kind;
  }
  return RunClass::kUnknown;
}

}  // namespace tessera
