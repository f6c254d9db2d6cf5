// The role of a run in a training or serving program.
//
// Most published strategies are rules for one class: activations are offloaded (vDNN, TBA), optimizer states
// are (ZeRO-Offload), a key-value cache has its own place (Lamina). Programs declare the class by tags;
// otherwise planning/structure.hpp infers it from how the run is used.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/units.hpp"

namespace tessera {

enum class RunClass : std::uint8_t {
  kUnknown,
  kWeight,
  kOptimizer,
  kGradient,
  kActivation,
  kInput,
  kKvCache,
};

// The class that a tag's word stands for; kUnknown for other words.
RunClass class_of_word(std::string_view word);

// The class of a tag id, supplied by the owner of the tag words. Empty function: no words are available.
using ClassOfTag = std::function<RunClass(TagId tag)>;

}  // namespace tessera
