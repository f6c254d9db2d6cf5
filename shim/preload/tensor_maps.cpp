#include "tensor_maps.hpp"

namespace tessera::preload {

TensorMaps& tensor_maps() {
  // Never destroyed: programs launch from their own exit handlers.
  static TensorMaps& maps = *new TensorMaps;
  return maps;
}

}  // namespace tessera::preload
