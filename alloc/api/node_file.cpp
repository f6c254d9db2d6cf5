#include "api/node_file.hpp"

namespace tessera {

bool NodeFile::look() {
  if (writes_ != nullptr) (void)writes_->look();  // what was written cannot be returned
  return room_ != nullptr && room_->look() != Bytes();
}

}  // namespace tessera
