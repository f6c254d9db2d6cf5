// What a run holds, as far as a training or serving program is concerned.
//
// Most published strategies are rules for one such class: activations leave (vDNN, TBA), optimizer
// states leave (ZeRO-Offload), a cache of keys and values has a place of its own (Lamina). Programs
// say it by tags; where they do not, learn/structure.hpp finds it from how the run is used.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/units.hpp"

namespace tessera {

enum class RunClass : std::uint8_t {
  kUnknown, kWeight, kOptimizer, kGradient, kActivation, kInput, kKvCache,
};

// The class that a tag's word stands for; kUnknown for words that name none.
RunClass class_of_word(std::string_view word);

// The same for a tag of whoever has the words. Empty: nobody has.
using ClassOfTag = std::function<RunClass(TagId tag)>;

}  // namespace tessera
